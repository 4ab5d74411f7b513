package at

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind/condition"
)

// report tells the log, the metrics and the events of a write that succeeded.
func (r *Reconciler) report(ctx context.Context, at *cnatv1alpha1.At, decision Decision) {
	log := ctrl.LoggerFrom(ctx)
	if pod := decision.Open; pod != nil {
		delay := r.Clock.Now().Sub(decision.Due)
		if armed := meta.FindStatusCondition(at.Status.Conditions, Armed); armed != nil && !armed.LastTransitionTime.After(decision.Due) {
			openDelay.Observe(delay.Seconds()) // others were not to be opened at that instant
		}
		log.Info("Opened the gate", "pod", pod.Name, "due", decision.Due, "delay", delay.String())
		return // the event waits until that is recorded: others may be due as well
	}

	before, after := condition.FindReady(at.Status.Conditions), condition.FindReady(decision.Status.Conditions)
	if at.Status.Phase == decision.Status.Phase && before.Reason == after.Reason {
		return
	}
	log.Info("Status changed", "phase", decision.Status.Phase, "reason", after.Reason, "message", after.Message)

	ended := decision.Status.Phase == cnatv1alpha1.AtDone && after.Reason != ReasonAlreadyRan
	if ended {
		runs.WithLabelValues(after.Reason).Inc()
	}
	switch {
	case ended, meta.IsStatusConditionTrue(decision.Status.Conditions, condition.Stalled):
		status.RecordReady(r.Events, at, decision.Status.Conditions)
	case at.Status.Phase != cnatv1alpha1.AtRunning && decision.Status.Phase == cnatv1alpha1.AtRunning:
		r.Events.Eventf(at, nil, corev1.EventTypeNormal, "Opened", "Open", "The gate of Pod %s is open", decision.Status.Run.PodName)
	}
}
