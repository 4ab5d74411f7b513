package status

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
)

// Gauge is a metric that counts cached objects by status, each time it is collected.
type Gauge struct {
	// Desc describes the metric. It has one label.
	Desc *prometheus.Desc
	// Count returns the number of objects for each value of the label.
	Count func(context.Context) (map[string]int, error)
}

// StateGauge counts objects by state. It ignores states beside the given ones. StatesOf returns the states
// of an object.
func StateGauge(desc *prometheus.Desc, objects func(context.Context) ([]kind.Object, error),
	statesOf func(kind.Object) []string, states ...string) Gauge {
	return Gauge{Desc: desc, Count: func(ctx context.Context) (map[string]int, error) {
		counts := map[string]int{}
		for _, state := range states {
			counts[state] = 0
		}
		all, err := objects(ctx)
		for _, object := range all {
			for _, state := range statesOf(object) {
				if _, ok := counts[state]; ok {
					counts[state]++
				}
			}
		}
		return counts, err
	}}
}

// Start implements manager.Runnable. Only the leader has the metric, so that the sum over replicas
// is right.
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

// RecordReady records the condition Ready of an object as an event, as a warning if the object is
// stalled.
func RecordReady(recorder events.EventRecorder, object runtime.Object, conditions []metav1.Condition) {
	eventType := corev1.EventTypeNormal
	if meta.IsStatusConditionTrue(conditions, condition.Stalled) {
		eventType = corev1.EventTypeWarning
	}
	ready := condition.FindReady(conditions)
	recorder.Eventf(object, nil, eventType, ready.Reason, "Report", "%s", ready.Message)
}
