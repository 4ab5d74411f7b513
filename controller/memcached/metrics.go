package memcached

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	"example.com/gatehouse/controller/status"
)

var states = prometheus.NewDesc("gatehouse_memcacheds", "Memcacheds by which of the conditions Ready, Reconciling and Stalled is True.", []string{"state"}, nil)

// stateGauge counts the Memcacheds of a cache by state.
func stateGauge(memcacheds client.Reader) status.Gauge {
	return status.Gauge{Desc: states, Count: func(ctx context.Context) (map[string]int, error) {
		var list cachev1alpha1.MemcachedList
		if err := memcacheds.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		counts := map[string]int{status.Ready: 0, status.Reconciling: 0, status.Stalled: 0}
		for state := range counts {
			for i := range list.Items {
				if meta.IsStatusConditionTrue(list.Items[i].Status.Conditions, state) {
					counts[state]++
				}
			}
		}
		return counts, nil
	}}
}
