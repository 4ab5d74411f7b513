package memcached

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	"example.com/gatehouse/controller/condition"
)

var states = prometheus.NewDesc("gatehouse_memcacheds", "Memcacheds by which of the conditions Ready, Reconciling and Stalled is True.", []string{"state"}, nil)

// stateCounter is a collector that counts Memcacheds by state, from a cache.
type stateCounter struct{ memcacheds client.Reader }

// Describe implements prometheus.Collector.
func (s stateCounter) Describe(descs chan<- *prometheus.Desc) { descs <- states }

// Collect implements prometheus.Collector.
func (s stateCounter) Collect(samples chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var list cachev1alpha1.MemcachedList
	if err := s.memcacheds.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		samples <- prometheus.NewInvalidMetric(states, err)
		return
	}
	for _, state := range []string{condition.Ready, condition.Reconciling, condition.Stalled} {
		count := 0
		for i := range list.Items {
			if meta.IsStatusConditionTrue(list.Items[i].Status.Conditions, state) {
				count++
			}
		}
		samples <- prometheus.MustNewConstMetric(states, prometheus.GaugeValue, float64(count), state)
	}
}
