package at

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
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

// phaseCounter is a collector that counts Ats by phase, from a cache.
type phaseCounter struct{ ats client.Reader }

// Describe implements prometheus.Collector.
func (p phaseCounter) Describe(descs chan<- *prometheus.Desc) { descs <- phases }

// Collect implements prometheus.Collector.
func (p phaseCounter) Collect(samples chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var ats cnatv1alpha1.AtList
	if err := p.ats.List(ctx, &ats, client.UnsafeDisableDeepCopy); err != nil {
		samples <- prometheus.NewInvalidMetric(phases, err)
		return
	}
	counts := map[cnatv1alpha1.AtPhase]int{cnatv1alpha1.AtPending: 0, cnatv1alpha1.AtRunning: 0, cnatv1alpha1.AtDone: 0}
	for i := range ats.Items {
		if phase := ats.Items[i].Status.Phase; phase != "" {
			counts[phase]++
		}
	}
	for phase, count := range counts {
		samples <- prometheus.MustNewConstMetric(phases, prometheus.GaugeValue, float64(count), string(phase))
	}
}
