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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"example.com/gatehouse/kind/condition"
)

// Gauge is a metric that counts cached objects by status, each time it is collected.
type Gauge struct {
	// Desc describes the metric. It has one label.
	Desc *prometheus.Desc
	// Count returns the number of objects for each value of the label.
	Count func(context.Context) (map[string]int, error)
}

// StateGauge counts the objects of a kind in a cache by state. It ignores states beside the given
// ones. The list is an empty list of the kind; statesOf returns the states of an object.
func StateGauge(desc *prometheus.Desc, objects client.Reader, list client.ObjectList,
	statesOf func(runtime.Object) []string, states ...string) Gauge {
	return Gauge{Desc: desc, Count: func(ctx context.Context) (map[string]int, error) {
		all := list.DeepCopyObject().(client.ObjectList)
		if err := objects.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		counts := map[string]int{}
		for _, state := range states {
			counts[state] = 0
		}
		return counts, meta.EachListItem(all, func(o runtime.Object) error {
			for _, state := range statesOf(o) {
				if _, ok := counts[state]; ok {
					counts[state]++
				}
			}
			return nil
		})
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
