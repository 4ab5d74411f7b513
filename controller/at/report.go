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

// reportOpened logs and counts an opened gate. Its event was recorded with the start, as other Ats may be
// due now.
func (r *Reconciler) reportOpened(ctx context.Context, at *cnatv1alpha1.At, decision Decision) {
	delay := r.Clock.Now().Sub(decision.Due)
	if armed := meta.FindStatusCondition(at.Status.Conditions, Armed); armed != nil && !armed.LastTransitionTime.After(decision.Due) {
		openDelay.Observe(delay.Seconds()) // an At that was armed later opens later
	}
	ctrl.LoggerFrom(ctx).Info("Opened the gate", "pod", decision.Open.Name, "due", decision.Due, "delay", delay.String())
}

// report logs and counts a written status, and records its event.
func (r *Reconciler) report(ctx context.Context, at *cnatv1alpha1.At, next cnatv1alpha1.AtStatus) {
	before, after := condition.FindReady(at.Status.Conditions), condition.FindReady(next.Conditions)
	if at.Status.Phase == next.Phase && before.Reason == after.Reason {
		return
	}
	ctrl.LoggerFrom(ctx).Info("Status changed", "phase", next.Phase, "reason", after.Reason, "message", after.Message)

	if next.Phase == cnatv1alpha1.AtRunning && at.Status.Phase != cnatv1alpha1.AtRunning {
		r.Events.Eventf(at, nil, corev1.EventTypeNormal, "Opening", "Open", "The gate of Pod %s opens", next.Run.PodName)
	}
	ended := next.Phase == cnatv1alpha1.AtDone && after.Reason != ReasonAlreadyRan
	if ended {
		runs.WithLabelValues(after.Reason).Inc()
	}
	if ended || meta.IsStatusConditionTrue(next.Conditions, condition.Stalled) {
		status.RecordReady(r.Events, at, next.Conditions)
	}
}
