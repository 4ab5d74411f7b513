package status

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Gauge is a metric that counts objects by what their status says, from a cache and
// whenever it is read.
type Gauge struct {
	// Desc describes the metric. It has one label.
	Desc *prometheus.Desc
	// Count returns how many objects there are by the value of the label.
	Count func(context.Context) (map[string]int, error)
}

// Start implements manager.Runnable. The metric is there for as long as the manager
// leads, so that the sum over replicas is right.
func (g Gauge) Start(ctx context.Context) error {
	err := metrics.Registry.Register(g)
	if errors.As(err, &prometheus.AlreadyRegisteredError{}) {
		return nil // another manager of this process counts the same
	}
	if err != nil {
		return err
	}
	<-ctx.Done()
	metrics.Registry.Unregister(g)
	return nil
}

// Describe implements prometheus.Collector.
func (g Gauge) Describe(descs chan<- *prometheus.Desc) { descs <- g.Desc }

// Collect implements prometheus.Collector.
func (g Gauge) Collect(samples chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	counts, err := g.Count(ctx)
	if err != nil {
		samples <- prometheus.NewInvalidMetric(g.Desc, err)
		return
	}
	for value, count := range counts {
		samples <- prometheus.MustNewConstMetric(g.Desc, prometheus.GaugeValue, float64(count), value)
	}
}
