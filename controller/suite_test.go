package controller_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/controller"
	"example.com/gatehouse/controller/gatehouse"
	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/test/apiserver"
	"example.com/gatehouse/test/cluster"
)

var server apiserver.Server

func TestMain(m *testing.M) { apiserver.Run(m, &server) }

// patience limits the wait for a result that should take moments.
const patience = 20 * time.Second

// world is a namespace of the API server with a controller. The test plays all other clients.
type world struct {
	*testing.T
	client.Client // the administrator's
	ctx           context.Context
	namespace     string
	options       controller.Options
	controllers   []setup.Controller
	config        *rest.Config // of the controllers

	// isForged reports whether a test itself wrote a version of a status.
	isForged func(*unstructured.Unstructured) bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return newWorldOf(t, gatehouse.Controllers)
}

func newWorldOf(t *testing.T, controllers []setup.Controller) *world {
	t.Helper()
	w := &world{T: t, ctx: t.Context(), namespace: namespaceName(t), controllers: controllers, config: server.Controller, isForged: func(*unstructured.Unstructured) bool { return false }}
	scheme, err := controller.Scheme(controllers)
	w.must(err)
	admin, err := client.NewWithWatch(server.Admin, client.Options{Scheme: scheme})
	w.must(err)
	w.Client = admin
	w.options = controller.Options{
		MetricsAddress: "0", ProbeAddress: "0", Namespaces: []string{w.namespace}, Concurrency: 4, Grace: time.Hour,
	}
	w.must(admin.Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}))
	w.checkEveryVersion(admin)
	return w
}

func namespaceName(t *testing.T) string {
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	return name[:min(len(name), 50)]
}

// start starts a controller with its own identity, and returns the function that stops it. The
// changes apply to the options of its manager.
func (w *world) start(changes ...func(*ctrl.Options)) (stop func()) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.ctx)
	mgr, err := controller.NewBesideOthers(w.config, w.controllers, w.options, changes...)
	w.must(err)
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	stop = func() {
		cancel()
		if err := <-stopped; err != nil {
			w.Errorf("the controller ended: %v", err)
		}
		stopped <- nil
	}
	w.Cleanup(stop)
	return stop
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// sync applies the rendered objects of an object, as a GitOps tool would. With a version, another
// version of the renderer made them, and Pods have another name.
func (w *world) sync(object client.Object, version ...string) []*unstructured.Unstructured {
	w.Helper()
	rendered, err := cluster.Rendered(object, w.Scheme(), w.kinds().All)
	w.must(err)
	for _, r := range rendered {
		if len(version) > 0 {
			w.must(unstructured.SetNestedField(r.Object, version[0], "metadata", "annotations", "version"))
			r.SetName(object.GetName())
			w.must(w.kinds().HashName(r, &unstructured.Unstructured{}))
		}
		w.must(w.Apply(w.ctx, client.ApplyConfigurationFromUnstructured(r), client.FieldOwner("sync")))
	}
	return rendered
}

func (w *world) kinds() *registry.Kinds {
	w.Helper()
	kinds, err := controller.Kinds(w.controllers)
	w.must(err)
	return kinds
}

// edit changes an object until the server takes it.
func edit[T client.Object](w *world, object T, change func(T)) {
	w.Helper()
	w.eventually("edit", func() error {
		if err := w.Get(w.ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change(object)
		return w.Update(w.ctx, object)
	})
}

// writePodStatus plays the kubelet.
func (w *world) writePodStatus(pod *corev1.Pod, change func(*corev1.PodStatus)) {
	w.Helper()
	w.eventually("write Pod status", func() error {
		if err := w.Get(w.ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		change(&pod.Status)
		return w.Status().Update(w.ctx, pod)
	})
}

// countVersions counts the versions of all objects of a kind from now on.
func (w *world) countVersions(list client.ObjectList) func() int64 {
	w.Helper()
	watcher, err := w.Client.(client.WithWatch).Watch(w.ctx, list, client.InNamespace(w.namespace))
	w.must(err)
	w.Cleanup(watcher.Stop)
	var count atomic.Int64
	go func() {
		for range watcher.ResultChan() {
			count.Add(1)
		}
	}()
	return count.Load
}

func (w *world) eventually(name string, try func() error) {
	w.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("%s: %v", name, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
