// Package gauge has the metrics that are counted from a cache.
package gauge

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// WhileLeading has a collector registered for as long as a manager leads, so that
// the sum over replicas is right.
func WhileLeading(collector prometheus.Collector) manager.Runnable {
	return manager.RunnableFunc(func(ctx context.Context) error {
		err := metrics.Registry.Register(collector)
		if errors.As(err, &prometheus.AlreadyRegisteredError{}) {
			return nil // another manager of this process counts the same
		}
		if err != nil {
			return err
		}
		<-ctx.Done()
		metrics.Registry.Unregister(collector)
		return nil
	})
}
