package at

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind/condition"
)

// reportOpened logs and counts an opened gate. Its event was recorded with the start, as other Ats may be
// due now.
func (r *Reconciler) reportOpened(ctx context.Context, at *cnatv1alpha1.At, decision Decision) {
	delay := r.Clock.Now().Sub(decision.Due)
	if armed := meta.FindStatusCondition(at.Status.Conditions, Armed); armed != nil &&
		!armed.LastTransitionTime.After(decision.Due) {
		openDelay.Observe(delay.Seconds()) // an At that was armed later opens later
	}
	ctrl.LoggerFrom(ctx).Info("Opened the gate", "pod", decision.Open.Name, "due", decision.Due, "delay",
		delay.String())
}

// report logs and counts a written status, and records its event.
func (r *Reconciler) report(ctx context.Context, at *cnatv1alpha1.At, next cnatv1alpha1.AtStatus) {
	before, after := condition.FindReady(at.Status.Conditions), condition.FindReady(next.Conditions)
	if at.Status.Phase == next.Phase && before.Reason == after.Reason {
		return
	}
	ctrl.LoggerFrom(ctx).Info("Status changed", "phase", next.Phase, "reason", after.Reason, "message", after.Message)

	if next.Phase == cnatv1alpha1.AtRunning && at.Status.Phase != cnatv1alpha1.AtRunning {
		r.Events.Eventf(at, nil, corev1.EventTypeNormal, "Opening", "Open", "The gate of Pod %s opens",
			next.Run.PodName)
	}
	ended := next.Phase == cnatv1alpha1.AtDone && after.Reason != ReasonAlreadyRan
	if ended {
		runs.WithLabelValues(after.Reason).Inc()
	}
	if ended || meta.IsStatusConditionTrue(next.Conditions, condition.Stalled) {
		status.RecordReady(r.Events, at, next.Conditions)
	}
}

var (
	openDelay = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "gatehouse_at_open_delay_seconds",
		Help:    "Time from the instant at which an At is due until its gate is open, of Ats that were armed by then.",
		Buckets: []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 300, 1800},
	})
	runs = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "gatehouse_at_runs_total",
		Help: "Runs that ended, by the reason of the At's Ready condition.",
	}, []string{"result"})
	phases = prometheus.NewDesc("gatehouse_ats", "Ats by phase.", []string{"phase"}, nil)
)

func init() {
	metrics.Registry.MustRegister(openDelay, runs)
}

// phaseGauge counts the Ats of a cache by phase.
func phaseGauge(ats client.Reader) status.Gauge {
	phaseOf := func(o runtime.Object) []string { return []string{string(o.(*cnatv1alpha1.At).Status.Phase)} }
	return status.StateGauge(phases, ats, &cnatv1alpha1.AtList{}, phaseOf,
		string(cnatv1alpha1.AtPending), string(cnatv1alpha1.AtRunning), string(cnatv1alpha1.AtDone))
}
