package controller_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"example.com/gatehouse/controller"
	"example.com/gatehouse/controller/at"
	"example.com/gatehouse/controller/setup"
)

// The cache of a controller holds only the rendered objects of its kind, and of these only the
// fields for decisions, in one watched namespace or all.
func TestCacheHoldsOnlyRenderedObjects(t *testing.T) {
	for name, allNamespaces := range map[string]bool{"one namespace": false, "all": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			pod := w.syncPod(w.createAt("yay", time.Hour))
			other := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "other"},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			}
			w.must(w.Create(w.ctx, other))
			var namespaces map[string]cache.Config
			if !allNamespaces {
				namespaces = map[string]cache.Config{w.namespace: {}}
			}

			var pods corev1.PodList
			w.must(w.startCache(at.Controller, namespaces).List(w.ctx, &pods, client.InNamespace(w.namespace)))
			if len(pods.Items) != 1 || pods.Items[0].UID != pod.UID || len(pods.Items[0].Spec.Containers) > 0 {
				t.Errorf("the cache holds %+v", pods.Items)
			}
		})
	}
}

// startCache starts the cache of rendered objects for one controller.
func (w *world) startCache(c setup.Controller, namespaces map[string]cache.Config) client.Reader {
	w.Helper()
	scheme, err := controller.Scheme([]setup.Controller{c})
	w.must(err)
	mgr, err := ctrl.NewManager(server.Controller, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		NewCache: setup.NewCache([]setup.Controller{c}), Cache: cache.Options{DefaultNamespaces: namespaces},
	})
	w.must(err)
	started := make(chan cache.Cache, 1)
	c.Setup = func(_ context.Context, _ ctrl.Manager, rendered setup.Rendered, _ setup.Options) error {
		started <- rendered.Cache
		return nil
	}
	w.must(setup.AddTo(mgr, setup.Options{}, []setup.Controller{c}))
	ctx, cancel := context.WithCancel(w.ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	w.Cleanup(func() {
		cancel()
		w.must(<-stopped)
	})
	reader := <-started
	if !reader.WaitForCacheSync(w.ctx) {
		w.Fatal("the cache does not sync")
	}
	return reader
}
