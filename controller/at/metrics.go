package at

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/status"
)

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
