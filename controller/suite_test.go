package controller_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller"
	"example.com/gatehouse/render/kinds"
	"example.com/gatehouse/test/apiserver"
	"example.com/gatehouse/test/cluster"
)

var server apiserver.Server

func TestMain(m *testing.M) { apiserver.Run(m, &server) }

// patience is how long a test waits for what should take moments.
const patience = 20 * time.Second

// world is a namespace of the API server, with a controller that watches it and a
// test that plays everybody else.
type world struct {
	*testing.T
	client.Client // the administrator's
	ctx           context.Context
	namespace     string
	options       controller.Options
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	admin, err := client.NewWithWatch(server.Admin, client.Options{Scheme: controller.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, Client: admin, ctx: t.Context(), namespace: namespaceOf(t)}
	w.options = controller.Options{
		MetricsAddress: "0", ProbeAddress: "0", Namespaces: []string{w.namespace}, Concurrency: 4, Grace: time.Hour,
	}
	w.must(admin.Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}))
	w.checkEveryVersion(admin)
	return w
}

func namespaceOf(t *testing.T) string {
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	return name[:min(len(name), 50)]
}

// start starts a controller of its own identity and returns what stops it. Each change
// is made to the options of its manager.
func (w *world) start(changes ...func(*ctrl.Options)) (stop func()) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.ctx)
	mgr, err := controller.NewBesideOthers(ctx, server.Controller, w.options, changes...)
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

// at creates an At that is due so long from now, and returns it as the server has
// defaulted it.
func (w *world) at(name string, due time.Duration, change ...func(*cnatv1alpha1.At)) *cnatv1alpha1.At {
	w.Helper()
	at := &cnatv1alpha1.At{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec:       cnatv1alpha1.AtSpec{Schedule: time.Now().Add(due).UTC().Format(time.RFC3339Nano), Command: "echo YAY"},
	}
	for _, change := range change {
		change(at)
	}
	w.must(w.Create(w.ctx, at))
	return at
}

// sync applies what an object renders to, as a GitOps tool would. The name of a
// Pod ends in suffix, as if a renderer of another version had made it.
func (w *world) sync(object client.Object, suffix ...string) []*unstructured.Unstructured {
	w.Helper()
	rendered, err := cluster.Rendered(object, w.Scheme())
	w.must(err)
	for _, r := range rendered {
		if r.GetKind() == "Pod" {
			r.SetName(r.GetName() + strings.Join(suffix, ""))
		}
		w.must(w.Apply(w.ctx, client.ApplyConfigurationFromUnstructured(r), client.FieldOwner("sync")))
	}
	return rendered
}

// syncPod creates the Pod of an At.
func (w *world) syncPod(at *cnatv1alpha1.At, suffix ...string) *corev1.Pod {
	w.Helper()
	rendered := w.sync(at, suffix...)
	pod := &corev1.Pod{}
	w.must(w.Get(w.ctx, client.ObjectKeyFromObject(rendered[0]), pod))
	return pod
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

// podStatus plays the kubelet.
func (w *world) podStatus(pod *corev1.Pod, change func(*corev1.PodStatus)) {
	w.Helper()
	w.eventually("write Pod status", func() error {
		if err := w.Get(w.ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		change(&pod.Status)
		return w.Status().Update(w.ctx, pod)
	})
}

func exited(code int32) func(*corev1.PodStatus) {
	return func(status *corev1.PodStatus) {
		status.Phase = corev1.PodSucceeded
		if code != 0 {
			status.Phase = corev1.PodFailed
		}
		status.ContainerStatuses = []corev1.ContainerStatus{{
			Name:  kinds.CommandContainer,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: "the end of the log", FinishedAt: metav1.Now()}},
		}}
	}
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

func (w *world) eventually(what string, try func() error) {
	w.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("%s: %v", what, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// awaitAt waits until an At is in a phase and its Ready condition has a reason.
func (w *world) awaitAt(at *cnatv1alpha1.At, phase cnatv1alpha1.AtPhase, reason string) *cnatv1alpha1.At {
	w.Helper()
	current := &cnatv1alpha1.At{}
	w.eventually(fmt.Sprintf("At %s is %s %s", at.Name, phase, reason), func() error {
		w.must(w.Get(w.ctx, client.ObjectKeyFromObject(at), current))
		if got := reasonOf(current.Status.Conditions); current.Status.Phase != phase || got != reason || current.Status.ObservedGeneration != current.Generation {
			return fmt.Errorf("is %s %s: %+v", current.Status.Phase, got, current.Status)
		}
		return nil
	})
	return current
}

func reasonOf(conditions []metav1.Condition) string {
	for _, c := range conditions {
		if c.Type == "Ready" {
			return c.Reason
		}
	}
	return ""
}

// gateIs fails the test unless the gate of a Pod is as it should be.
func (w *world) gateIs(pod *corev1.Pod, closed bool) {
	w.Helper()
	current := &corev1.Pod{}
	w.must(w.Get(w.ctx, client.ObjectKeyFromObject(pod), current))
	if got := len(current.Spec.SchedulingGates) > 0; got != closed {
		w.Fatalf("gate of Pod %s: closed %t, want %t", pod.Name, got, closed)
	}
}
