// Package disaster loses and restores clusters, with a real API server, the data of its etcd, and the
// controller in a separate process.
package disaster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller"
	"example.com/gatehouse/controller/gatehouse"
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/condition"
	kinds "example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render"
	"example.com/gatehouse/test/apiserver"
	"example.com/gatehouse/test/cluster"
)

// asController is an environment variable that makes the test program run as the controller.
const asController = "GATEHOUSE_TEST_CONTROLLER"

func TestMain(m *testing.M) {
	if os.Getenv(asController) == "" {
		os.Exit(m.Run())
	}
	if err := runController(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runController(ctx context.Context) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	manager, err := controller.New(config, gatehouse.Controllers, controller.Options{MetricsAddress: "0", ProbeAddress: "0", Concurrency: 4, Grace: time.Hour})
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

// world is a cluster: an API server with etcd. Tests take the part of all other programs.
type world struct {
	*testing.T
	*cluster.Cluster
	namespace  string // of the Ats
	kubeconfig string // of the controller
	shutDown   func()
}

// newWorld starts a cluster with etcd's data in a folder, which may be empty.
func newWorld(t *testing.T, data string) *world {
	t.Helper()
	server, stop, err := apiserver.Start(data)
	must(t, err)
	w := &world{T: t, namespace: "shop", kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	isUp := true
	w.shutDown = func() {
		if isUp {
			isUp = false
			must(t, stop())
		}
	}
	t.Cleanup(w.shutDown)
	must(t, os.WriteFile(w.kubeconfig, server.Kubeconfig, 0o600))
	scheme, err := controller.Scheme(gatehouse.Controllers)
	must(t, err)
	admin, err := client.NewWithWatch(server.Admin, client.Options{Scheme: scheme})
	must(t, err)
	w.Cluster = &cluster.Cluster{WithWatch: admin, Config: server.Admin}
	return w
}

// on returns the same cluster for another test.
func (w *world) on(t *testing.T) *world {
	other := *w
	other.T = t
	return &other
}

// anew returns the same cluster for another test, without Ats and Pods, and so without recorded starts.
func (w *world) anew(t *testing.T) *world {
	t.Helper()
	for _, kind := range []client.Object{&cnatv1alpha1.At{}, &corev1.Pod{}} {
		err := w.DeleteAllOf(t.Context(), kind, client.InNamespace(w.namespace), client.GracePeriodSeconds(0))
		if !meta.IsNoMatchError(err) { // before the first sync
			must(t, err)
		}
	}
	return w.on(t)
}

// startController starts a controller and returns a function that kills it.
func (w *world) startController() (stop func()) {
	w.Helper()
	cmd := exec.Command(os.Args[0]) // #nosec G204 -- the program of the tests
	cmd.Env = append(os.Environ(), asController+"=1", "KUBECONFIG="+w.kubeconfig)
	must(w.T, cmd.Start())
	isUp := true
	stop = func() {
		if isUp {
			isUp = false
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	w.Cleanup(stop)
	return stop
}

// sync applies objects until the API server accepts them: it needs some time to serve new kinds.
func (w *world) sync(objects []*unstructured.Unstructured) {
	w.Helper()
	w.eventually("sync", func() error { return w.ApplyAll(w.Context(), objects) })
}

// awaitAt waits for the phase of an At and the reason of its Ready condition.
func (w *world) awaitAt(name string, phase cnatv1alpha1.AtPhase, reason string) *cnatv1alpha1.At {
	w.Helper()
	at := &cnatv1alpha1.At{}
	w.eventually(fmt.Sprintf("At %s is %s %s", name, phase, reason), func() error {
		if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, at); err != nil {
			return err
		}
		if got := condition.FindReady(at.Status.Conditions).Reason; at.Status.Phase != phase || got != reason || at.Status.ObservedGeneration != at.Generation {
			return fmt.Errorf("is %s %s", at.Status.Phase, got)
		}
		return nil
	})
	return at
}

// pod returns the only Pod of an At, or nil.
func (w *world) pod(at string) *corev1.Pod {
	w.Helper()
	var pods corev1.PodList
	must(w.T, w.List(w.Context(), &pods, client.InNamespace(w.namespace), client.MatchingLabels{kindat.Label: at}))
	switch len(pods.Items) {
	case 0:
		return nil
	case 1:
		return &pods.Items[0]
	}
	w.Fatalf("At %s has %d Pods", at, len(pods.Items))
	return nil
}

// checkClosed checks that each At has a Pod with a closed gate.
func (w *world) checkClosed(ats ...string) {
	w.Helper()
	for _, at := range ats {
		if pod := w.pod(at); pod == nil || len(pod.Spec.SchedulingGates) == 0 {
			w.Errorf("At %s has no Pod with a closed gate", at)
		}
	}
}

// awaitOpen waits until each At has a Pod with an open gate. The recorded start may come earlier.
func (w *world) awaitOpen(ats ...string) {
	w.Helper()
	for _, at := range ats {
		w.eventually("the gate of At "+at+" opens", func() error {
			if pod := w.pod(at); pod == nil || len(pod.Spec.SchedulingGates) > 0 {
				return errors.New("it has no Pod with an open gate")
			}
			return nil
		})
	}
}

// finish ends the Pod of an At as the kubelet would.
func (w *world) finish(at string) {
	w.Helper()
	pod := w.pod(at)
	pod.Status.Phase = corev1.PodSucceeded
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name:  kindat.CommandContainer,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.Now()}},
	}}
	must(w.T, w.Status().Update(w.Context(), pod))
}

func (w *world) eventually(goal string, try func() error) {
	w.Helper()
	const patience = time.Minute
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			w.Fatalf("%s: not within %s: %v", goal, patience, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rendered returns the objects of an environment of this repository with some files replaced.
func rendered(t *testing.T, environment string, files map[string]string) (objects []*unstructured.Unstructured) {
	t.Helper()
	repository, err := render.Open("../..", kinds.All(), render.Options{})
	must(t, err)
	defer repository.Close()
	contents := map[string][]byte{}
	for name, content := range files {
		contents["/environments/"+environment+"/"+name] = []byte(content)
	}
	loaded := repository.With(contents).Load(environment, render.LoadOptions{})
	rendering, problems := loaded.Rendering, loaded.Problems
	if rendering == nil {
		t.Fatal(problems)
	}
	for _, o := range rendering.Objects {
		objects = append(objects, o.Unstructured)
	}
	return objects
}

// anAt returns the manifest of an At with further fields in its spec.
func anAt(name string, due time.Time, more string) string {
	return fmt.Sprintf("---\n{apiVersion: %s, kind: At, metadata: {name: %s, namespace: shop}, spec: {schedule: %q, command: echo%s}}\n",
		cnatv1alpha1.SchemeGroupVersion, name, due.UTC().Format(time.RFC3339), more)
}
