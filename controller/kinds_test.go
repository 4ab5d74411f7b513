package controller_test

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/controller/observe"
	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
	"example.com/gatehouse/kind/rbac"
	"example.com/gatehouse/test/testkind"
)

// These tests use kinds outside of Gatehouse.

var fleetControllers = []setup.Controller{observe.Controller(testkind.Kind), observe.Controller(testkind.ConvoyKind)}

// fleetUser is the user of the controllers of Fleets and Convoys. It has exactly their generated
// rights.
const fleetUser = "fleet-controller"

var installFleets = sync.OnceValue(func() error {
	var definitions []*apiextensionsv1.CustomResourceDefinition
	for _, c := range fleetControllers {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(c.Kind.CRD(), definition); err != nil {
			return err
		}
		definitions = append(definitions, definition)
	}
	_, err := envtest.InstallCRDs(server.Admin, envtest.CRDInstallOptions{CRDs: definitions})
	return err
})

// watches counts the watches that a process opens, by resource.
type watches struct {
	mu    sync.Mutex
	count map[string]int
}

func (w *watches) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("watch") != "" {
			w.mu.Lock()
			w.count[path.Base(r.URL.Path)]++
			w.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func newFleetWorld(t *testing.T) (*world, *watches) {
	t.Helper()
	t.Parallel()
	if err := installFleets(); err != nil {
		t.Fatal(err)
	}
	w := newWorldOf(t, fleetControllers)
	w.allow("fleets", fleetUser, rbac.ClusterRole(w.kinds()))
	seen := &watches{count: map[string]int{}}
	w.config = rest.CopyConfig(server.Admin)
	w.config.Impersonate = rest.ImpersonationConfig{UserName: fleetUser}
	w.config.Wrap(seen.wrap)
	return w, seen
}

func TestFleetStatusFollowsChildren(t *testing.T) {
	w, _ := newFleetWorld(t)
	w.options.Grace = 2 * time.Second
	w.start()
	s := &testkind.Fleet{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "s"}, Spec: testkind.Spec{Pods: 2, FrontImage: "front", Message: "hello", Loud: true}}
	w.must(w.Create(w.ctx, s))
	w.awaitFleet(s, observe.ReasonObjectsMissing, condition.Reconciling)
	w.awaitFleet(s, observe.ReasonObjectsMissing, condition.Stalled)

	w.sync(s)
	w.awaitFleet(s, observe.ReasonObjectsNotReady, condition.Reconciling)
	w.runAll(s)
	status := w.awaitFleet(s, observe.ReasonReady, condition.Ready)
	if *status.Objects != 3 || *status.ReadyObjects != 3 || len(status.NotReady) > 0 || !meta.IsStatusConditionTrue(status.Conditions, observe.Available) {
		t.Errorf("status is %+v", status)
	}

	// The Pods of the Deployment are no rendered objects.
	w.createMadePod(s)
	pod := w.podsOf(s)[0]
	w.writePodStatus(pod, func(s *corev1.PodStatus) {
		s.Phase = corev1.PodFailed
		s.Conditions = nil
	})
	status = w.awaitFleet(s, observe.ReasonObjectsFailed, condition.Stalled)
	if want := []kind.NotReady{{Kind: "Pod", Name: pod.Name, Reason: observe.PodFailed}}; !slices.Equal(status.NotReady, want) || *status.ReadyObjects != 2 {
		t.Errorf("status is %+v", status)
	}
	w.runAll(s)
	w.awaitFleet(s, observe.ReasonReady, condition.Ready)

	old := w.podsOf(s)
	edit(w, s, func(s *testkind.Fleet) { s.Spec.Message = "other" })
	w.awaitFleet(s, observe.ReasonRenderingStale, condition.Reconciling)
	w.awaitFleet(s, observe.ReasonRenderingStale, condition.Stalled)
	w.sync(s)
	w.runAll(s)
	w.awaitFleet(s, observe.ReasonObjectsLeftOver, condition.Stalled)
	for _, pod := range old {
		w.must(w.Delete(w.ctx, pod))
	}
	w.awaitFleet(s, observe.ReasonReady, condition.Ready)
	w.must(w.Delete(w.ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "s-front"}}))
	w.awaitFleet(s, observe.ReasonObjectsMissing, condition.Reconciling)
	edit(w, s, func(s *testkind.Fleet) { s.Spec.Message = "panic" })
	w.awaitFleet(s, observe.ReasonExpandFailed, condition.Stalled)
}

func TestFleetIsWrittenOnceAStep(t *testing.T) {
	w, _ := newFleetWorld(t)
	w.start()
	versions := w.countVersions(&testkind.FleetList{})
	s := &testkind.Fleet{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "few"}, Spec: testkind.Spec{Pods: 5, FrontImage: "front", Message: "hello"}}
	w.must(w.Create(w.ctx, s))
	w.sync(s)
	w.awaitFleet(s, observe.ReasonObjectsNotReady, condition.Reconciling)
	w.runAll(s)
	w.awaitFleet(s, observe.ReasonReady, condition.Ready)
	time.Sleep(1500 * time.Millisecond)
	// Created, not ready, ready; on a slow machine, missing or half ready at first.
	if got := versions(); got > 5 {
		t.Errorf("the Fleet had %d versions", got)
	}
	// A deleted object gets no status.
	edit(w, s, func(s *testkind.Fleet) { s.Finalizers = []string{"testing.example.com/keep"} })
	w.must(w.Delete(w.ctx, s))
	w.must(w.Get(w.ctx, client.ObjectKeyFromObject(s), s))
	going := s.ResourceVersion
	w.must(w.DeleteAllOf(w.ctx, &corev1.Pod{}, client.InNamespace(w.namespace)))
	time.Sleep(1500 * time.Millisecond)
	w.must(w.Get(w.ctx, client.ObjectKeyFromObject(s), s))
	if s.ResourceVersion != going {
		t.Errorf("status is %+v", s.Status)
	}
	edit(w, s, func(s *testkind.Fleet) { s.Finalizers = nil })
}

// Two kinds with a child kind in common share its watch, and each sees only its own objects. A kind
// may extend the derived status.
func TestKindsShareWatches(t *testing.T) {
	w, seen := newFleetWorld(t)
	w.start()
	s := &testkind.Fleet{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "same"}, Spec: testkind.Spec{Pods: 1, Message: "hello"}}
	convoy := &testkind.Convoy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "same"}, Spec: testkind.Spec{Pods: 2, Message: "hi"}}
	w.must(w.Create(w.ctx, s))
	w.must(w.Create(w.ctx, convoy))
	w.sync(convoy)
	w.runPods(map[string]string{testkind.ConvoyLabel: "same"})
	w.awaitFleet(s, observe.ReasonObjectsMissing, condition.Reconciling)
	w.eventually("the Convoy is ready", func() error {
		w.must(w.Get(w.ctx, client.ObjectKeyFromObject(convoy), convoy))
		status := convoy.Status
		if !meta.IsStatusConditionTrue(status.Conditions, condition.Ready) || status.Running != 2 || status.Greeting != "hi" || *status.Objects != 2 {
			return fmt.Errorf("status is %+v", status)
		}
		return nil
	})
	// A Pod without its label no longer belongs to its owner, though the watch still shows it.
	var pods corev1.PodList
	w.must(w.List(w.ctx, &pods, client.InNamespace(w.namespace), client.MatchingLabels{testkind.ConvoyLabel: "same"}))
	edit(w, &pods.Items[0], func(pod *corev1.Pod) { delete(pod.Labels, testkind.ConvoyLabel) })
	w.eventually("the Convoy misses its Pod", func() error {
		w.must(w.Get(w.ctx, client.ObjectKeyFromObject(convoy), convoy))
		if condition.FindReady(convoy.Status.Conditions).Reason != observe.ReasonObjectsMissing {
			return fmt.Errorf("status is %+v", convoy.Status)
		}
		return nil
	})

	seen.mu.Lock()
	defer seen.mu.Unlock()
	for resource, want := range map[string]int{"pods": 1, "deployments": 1, "fleets": 1, "convoys": 1, "configmaps": 0} {
		if got := seen.count[resource]; got != want {
			t.Errorf("%d watches of %s, want %d", got, resource, want)
		}
	}
}

func TestFleetControllerMayOnlyWriteStatus(t *testing.T) {
	w, _ := newFleetWorld(t)
	s := &testkind.Fleet{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "s"}, Spec: testkind.Spec{Pods: 1, FrontImage: "front", Message: "hello"}}
	w.must(w.Create(w.ctx, s))
	w.sync(s)
	pod := w.podsOf(s)[0]
	controller, err := client.New(w.config, client.Options{Scheme: w.Scheme()})
	w.must(err)
	w.eventually("the rights apply", func() error { return controller.List(w.ctx, &corev1.PodList{}) })
	w.must(controller.List(w.ctx, &appsv1.DeploymentList{}))
	nothing := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
	for name, err := range map[string]error{
		"patch a Pod":          controller.Patch(w.ctx, pod, nothing),
		"delete a Pod":         controller.Delete(w.ctx, pod),
		"patch a Pod's status": controller.Status().Patch(w.ctx, pod, nothing),
		"patch a Deployment":   controller.Patch(w.ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "s-front"}}, nothing),
		"patch a Fleet":        controller.Patch(w.ctx, s, nothing),
		"read a ConfigMap":     controller.Get(w.ctx, client.ObjectKeyFromObject(s), &corev1.ConfigMap{}),
		"list Secrets":         controller.List(w.ctx, &corev1.SecretList{}),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v, want Forbidden", name, err)
		}
	}
}

// awaitFleet waits until the Ready condition of a Fleet has a reason and a condition is True.
func (w *world) awaitFleet(s *testkind.Fleet, reason, conditionType string) kind.Status {
	w.Helper()
	current := &testkind.Fleet{}
	w.eventually(fmt.Sprint("the Fleet is ", conditionType, " ", reason), func() error {
		w.must(w.Get(w.ctx, client.ObjectKeyFromObject(s), current))
		conditions := current.Status.Conditions
		if condition.FindReady(conditions).Reason != reason || !meta.IsStatusConditionTrue(conditions, conditionType) || current.Status.ObservedGeneration != current.Generation {
			return fmt.Errorf("is %+v", current.Status)
		}
		return nil
	})
	return current.Status.Status
}

// podsOf returns the rendered Pods of a Fleet.
func (w *world) podsOf(s *testkind.Fleet) (pods []*corev1.Pod) {
	w.Helper()
	var list corev1.PodList
	w.must(w.List(w.ctx, &list, client.InNamespace(w.namespace), client.MatchingLabels{testkind.Label: s.Name}))
	for i := range list.Items {
		if strings.HasPrefix(list.Items[i].Name, s.Name+"-") {
			pods = append(pods, &list.Items[i])
		}
	}
	return pods
}

// runAll plays the kubelet and the controller of Deployments for the rendered objects of a Fleet.
func (w *world) runAll(s *testkind.Fleet) {
	w.Helper()
	w.runPods(map[string]string{testkind.Label: s.Name})
	deployment := &appsv1.Deployment{}
	w.eventually("write Deployment status", func() error {
		if err := w.Get(w.ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Name + "-front"}, deployment); err != nil {
			return err
		}
		deployment.Status = appsv1.DeploymentStatus{
			ObservedGeneration: deployment.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
			Conditions: []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
				{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
			},
		}
		return w.Status().Update(w.ctx, deployment)
	})
}

// runPods plays the kubelet for Pods that have labels.
func (w *world) runPods(labels map[string]string) {
	w.Helper()
	var list corev1.PodList
	w.must(w.List(w.ctx, &list, client.InNamespace(w.namespace), client.MatchingLabels(labels)))
	for i := range list.Items {
		w.writePodStatus(&list.Items[i], func(s *corev1.PodStatus) {
			s.Phase = corev1.PodRunning
			s.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		})
	}
}

// createMadePod creates a Pod like one of the Deployment of a Fleet.
func (w *world) createMadePod(s *testkind.Fleet) {
	w.Helper()
	w.must(w.Create(w.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "made",
			Labels:          map[string]string{testkind.Label: s.Name, kind.ManagedByLabel: kind.ManagedBy},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", UID: "r", Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}))
}

// One undecodable object and one too large object are left out, and all others are served. That
// holds for a running controller and for a later one.
func TestOneBadObjectIsLeftOutAlone(t *testing.T) {
	w, _ := newFleetWorld(t)
	w.start()
	fleet := func(name string) *testkind.Fleet {
		s := &testkind.Fleet{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Spec: testkind.Spec{Pods: 1, Message: "hello"}}
		w.must(w.Create(w.ctx, s))
		return s
	}
	bad := fleet(poisoned)
	large := fleet("large")
	w.awaitFleet(bad, observe.ReasonObjectsMissing, condition.Reconciling)
	edit(w, large, func(s *testkind.Fleet) { s.Annotations = map[string]string{"a": strings.Repeat("a", 200<<10)} })
	poison := `{"status":{"conditions":[{"type":"A","status":"True","reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00x5Z"}]}}`
	object := &unstructured.Unstructured{} // no Go type can decode the answer
	object.SetGroupVersionKind(testkind.Kind.GVK())
	object.SetNamespace(w.namespace)
	object.SetName(bad.Name)
	w.must(w.Status().Patch(w.ctx, object, client.RawPatch(types.MergePatchType, []byte(poison))))
	w.awaitFleet(large, "TooLarge", condition.Stalled)
	w.awaitFleet(bad, "Undecodable", condition.Stalled)
	edit(w, large, func(s *testkind.Fleet) { s.Annotations = nil })
	w.awaitFleet(large, observe.ReasonObjectsMissing, condition.Reconciling)

	w.awaitFleet(fleet("after"), observe.ReasonObjectsMissing, condition.Reconciling)
	w.options.Grace = time.Second
	w.start()
	w.awaitFleet(fleet("last"), observe.ReasonObjectsMissing, condition.Stalled)
}
