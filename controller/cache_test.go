package controller_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
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

			pods := w.cachedPods(w.startCache(at.Controller, namespaces))
			if len(pods) != 1 || pods[0].GetUID() != pod.UID {
				t.Fatalf("the cache holds %+v", pods)
			}
			if _, isTrimmed := pods[0].(*at.TrimmedPod); !isTrimmed {
				t.Errorf("the cache holds a %T", pods[0])
			}
		})
	}
}

// cachedPods returns the Pods of the world that a cache holds.
func (w *world) cachedPods(objects cache.Cache) (pods []client.Object) {
	w.Helper()
	informer, err := objects.GetInformer(w.ctx, &corev1.Pod{})
	w.must(err)
	added := make(chan client.Object, 10)
	events, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if pod := o.(client.Object); pod.GetNamespace() == w.namespace {
				added <- pod
			}
		},
	})
	w.must(err)
	if !toolscache.WaitForCacheSync(w.ctx.Done(), events.HasSynced) {
		w.Fatal("the events of Pods do not arrive")
	}
	for len(added) > 0 {
		pods = append(pods, <-added)
	}
	return pods
}

// startCache starts the cache of rendered objects for one controller.
func (w *world) startCache(c setup.Controller, namespaces map[string]cache.Config) cache.Cache {
	w.Helper()
	scheme, err := controller.Scheme([]setup.Controller{c})
	w.must(err)
	mgr, err := ctrl.NewManager(server.Controller, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		NewCache: setup.NewCache([]setup.Controller{c}), Cache: cache.Options{DefaultNamespaces: namespaces},
	})
	w.must(err)
	started := make(chan struct{})
	c.Setup = func(context.Context, ctrl.Manager, setup.Cached, setup.Options) error {
		close(started)
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
	<-started
	if !mgr.GetCache().WaitForCacheSync(w.ctx) {
		w.Fatal("the cache does not sync")
	}
	return mgr.GetCache()
}
