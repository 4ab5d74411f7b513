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
	"example.com/gatehouse/test/market"
)

// What a controller does with kinds that are not Gatehouse's.

var shopControllers = []setup.Controller{observe.Controller(market.Kind), observe.Controller(market.StallKind)}

// shopUser is who the controllers of Shops and Stalls are. It has the rights that are
// generated for them, and no more.
const shopUser = "shop-controller"

var installShops = sync.OnceValue(func() error {
	var definitions []*apiextensionsv1.CustomResourceDefinition
	for _, c := range shopControllers {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(c.Kind.CRD, definition); err != nil {
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

func newShopWorld(t *testing.T) (*world, *watches) {
	t.Helper()
	t.Parallel()
	if err := installShops(); err != nil {
		t.Fatal(err)
	}
	w := newWorldOf(t, shopControllers)
	w.allow("shops", shopUser, rbac.ClusterRole(w.kinds()))
	seen := &watches{count: map[string]int{}}
	w.config = rest.CopyConfig(server.Admin)
	w.config.Impersonate = rest.ImpersonationConfig{UserName: shopUser}
	w.config.Wrap(seen.wrap)
	return w, seen
}

func TestShop(t *testing.T) {
	w, _ := newShopWorld(t)
	w.options.Grace = 2 * time.Second
	w.start()
	s := &market.Shop{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "s"}, Spec: market.Spec{Pods: 2, Replicas: ptr.To[int32](1), Message: "hello"}}
	w.must(w.Create(w.ctx, s))
	w.awaitShop(s, observe.ReasonObjectsMissing, condition.Reconciling)
	w.awaitShop(s, observe.ReasonObjectsMissing, condition.Stalled)

	w.sync(s)
	w.awaitShop(s, observe.ReasonObjectsNotReady, condition.Reconciling)
	w.runAll(s)
	status := w.awaitShop(s, observe.ReasonReady, condition.Ready)
	if *status.Objects != 3 || *status.ReadyObjects != 3 || len(status.NotReady) > 0 || !meta.IsStatusConditionTrue(status.Conditions, observe.Available) {
		t.Errorf("status is %+v", status)
	}

	// What the Deployment makes is its own.
	w.createMadePod(s)
	pod := w.podsOf(s)[0]
	w.writePodStatus(pod, func(s *corev1.PodStatus) { s.Phase, s.Conditions = corev1.PodFailed, nil })
	status = w.awaitShop(s, observe.ReasonObjectsFailed, condition.Stalled)
	if want := []kind.NotReady{{Kind: "Pod", Name: pod.Name, Reason: observe.PodFailed}}; !slices.Equal(status.NotReady, want) || *status.ReadyObjects != 2 {
		t.Errorf("status is %+v", status)
	}
	w.runAll(s)
	w.awaitShop(s, observe.ReasonReady, condition.Ready)

	old := w.podsOf(s)
	edit(w, s, func(s *market.Shop) { s.Spec.Message = "other" })
	w.awaitShop(s, observe.ReasonRenderingStale, condition.Reconciling)
	w.awaitShop(s, observe.ReasonRenderingStale, condition.Stalled)
	w.sync(s)
	w.runAll(s)
	w.awaitShop(s, observe.ReasonObjectsLeftOver, condition.Stalled)
	for _, pod := range old {
		w.must(w.Delete(w.ctx, pod))
	}
	w.awaitShop(s, observe.ReasonReady, condition.Ready)
	w.must(w.Delete(w.ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "s"}}))
	w.awaitShop(s, observe.ReasonObjectsMissing, condition.Reconciling)
	edit(w, s, func(s *market.Shop) { s.Spec.Message = "panic" })
	w.awaitShop(s, observe.ReasonExpandFailed, condition.Stalled)
}

func TestShopIsWrittenOnceAStep(t *testing.T) {
	w, _ := newShopWorld(t)
	w.start()
	versions := w.countVersions(&market.ShopList{})
	s := &market.Shop{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "few"}, Spec: market.Spec{Pods: 5, Replicas: ptr.To[int32](1)}}
	w.must(w.Create(w.ctx, s))
	w.sync(s)
	w.awaitShop(s, observe.ReasonObjectsNotReady, condition.Reconciling)
	w.runAll(s)
	w.awaitShop(s, observe.ReasonReady, condition.Ready)
	time.Sleep(1500 * time.Millisecond)
	// Created, not ready, ready; on a slow machine, missing or half ready at first.
	if got := versions(); got > 5 {
		t.Errorf("the Shop had %d versions", got)
	}
	// An object that goes gets no status.
	edit(w, s, func(s *market.Shop) { s.Finalizers = []string{"shop.example.com/keep"} })
	w.must(w.Delete(w.ctx, s))
	w.must(w.Get(w.ctx, client.ObjectKeyFromObject(s), s))
	going := s.ResourceVersion
	w.must(w.DeleteAllOf(w.ctx, &corev1.Pod{}, client.InNamespace(w.namespace)))
	time.Sleep(1500 * time.Millisecond)
	w.must(w.Get(w.ctx, client.ObjectKeyFromObject(s), s))
	if s.ResourceVersion != going {
		t.Errorf("status is %+v", s.Status)
	}
	edit(w, s, func(s *market.Shop) { s.Finalizers = nil })
}

// Two kinds share the watch of what both are rendered to, and each sees its own alone. A kind
// may decide more than what comes for free.
func TestKindsShareWatches(t *testing.T) {
	w, seen := newShopWorld(t)
	w.start()
	s := &market.Shop{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "same"}, Spec: market.Spec{Pods: 1}}
	stall := &market.Stall{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "same"}, Spec: market.Spec{Pods: 2, Message: "hi"}}
	w.must(w.Create(w.ctx, s))
	w.must(w.Create(w.ctx, stall))
	w.sync(stall)
	w.runPods(map[string]string{market.StallLabel: "same"})
	w.awaitShop(s, observe.ReasonObjectsMissing, condition.Reconciling)
	w.eventually("the Stall is ready", func() error {
		w.must(w.Get(w.ctx, client.ObjectKeyFromObject(stall), stall))
		status := stall.Status
		if !meta.IsStatusConditionTrue(status.Conditions, condition.Ready) || status.Running != 2 || status.Greeting != "hi" || *status.Objects != 2 {
			return fmt.Errorf("status is %+v", status)
		}
		return nil
	})
	// A Pod that loses its label is gone for its owner, though the watch still shows it.
	var pods corev1.PodList
	w.must(w.List(w.ctx, &pods, client.InNamespace(w.namespace), client.MatchingLabels{market.StallLabel: "same"}))
	edit(w, &pods.Items[0], func(pod *corev1.Pod) { delete(pod.Labels, market.StallLabel) })
	w.eventually("the Stall misses its Pod", func() error {
		w.must(w.Get(w.ctx, client.ObjectKeyFromObject(stall), stall))
		if condition.FindReady(stall.Status.Conditions).Reason != observe.ReasonObjectsMissing {
			return fmt.Errorf("status is %+v", stall.Status)
		}
		return nil
	})

	seen.mu.Lock()
	defer seen.mu.Unlock()
	for resource, want := range map[string]int{"pods": 1, "deployments": 1, "shops": 1, "stalls": 1, "configmaps": 0} {
		if got := seen.count[resource]; got != want {
			t.Errorf("%d watches of %s, want %d", got, resource, want)
		}
	}
}

func TestShopControllerMayOnlyWriteStatus(t *testing.T) {
	w, _ := newShopWorld(t)
	s := &market.Shop{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "s"}, Spec: market.Spec{Pods: 1, Replicas: ptr.To[int32](1)}}
	w.must(w.Create(w.ctx, s))
	w.sync(s)
	pod := w.podsOf(s)[0]
	controller, err := client.New(w.config, client.Options{Scheme: w.Scheme()})
	w.must(err)
	w.eventually("the rights apply", func() error { return controller.List(w.ctx, &corev1.PodList{}) })
	w.must(controller.List(w.ctx, &appsv1.DeploymentList{}))
	nothing := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
	for what, err := range map[string]error{
		"patch a Pod":          controller.Patch(w.ctx, pod, nothing),
		"delete a Pod":         controller.Delete(w.ctx, pod),
		"patch a Pod's status": controller.Status().Patch(w.ctx, pod, nothing),
		"patch a Deployment":   controller.Patch(w.ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "s"}}, nothing),
		"patch a Shop":         controller.Patch(w.ctx, s, nothing),
		"read a ConfigMap":     controller.Get(w.ctx, client.ObjectKeyFromObject(s), &corev1.ConfigMap{}),
		"list Secrets":         controller.List(w.ctx, &corev1.SecretList{}),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v, want Forbidden", what, err)
		}
	}
}

// awaitShop waits until the Ready condition of a Shop has a reason and a condition is True.
func (w *world) awaitShop(s *market.Shop, reason, conditionType string) kind.Status {
	w.Helper()
	current := &market.Shop{}
	w.eventually(fmt.Sprint("the Shop is ", conditionType, " ", reason), func() error {
		w.must(w.Get(w.ctx, client.ObjectKeyFromObject(s), current))
		conditions := current.Status.Conditions
		if condition.FindReady(conditions).Reason != reason || !meta.IsStatusConditionTrue(conditions, conditionType) || current.Status.ObservedGeneration != current.Generation {
			return fmt.Errorf("is %+v", current.Status)
		}
		return nil
	})
	return current.Status.Status
}

// podsOf are the Pods that were rendered from a Shop.
func (w *world) podsOf(s *market.Shop) (pods []*corev1.Pod) {
	w.Helper()
	var list corev1.PodList
	w.must(w.List(w.ctx, &list, client.InNamespace(w.namespace), client.MatchingLabels{market.Label: s.Name}))
	for i := range list.Items {
		if strings.HasPrefix(list.Items[i].Name, s.Name+"-") {
			pods = append(pods, &list.Items[i])
		}
	}
	return pods
}

// runAll plays the kubelet and the controller of Deployments for what was rendered from a
// Shop.
func (w *world) runAll(s *market.Shop) {
	w.Helper()
	w.runPods(map[string]string{market.Label: s.Name})
	deployment := &appsv1.Deployment{}
	w.eventually("write Deployment status", func() error {
		if err := w.Get(w.ctx, client.ObjectKeyFromObject(s), deployment); err != nil {
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

// createMadePod creates a Pod such as the Deployment of a Shop makes.
func (w *world) createMadePod(s *market.Shop) {
	w.Helper()
	w.must(w.Create(w.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "made",
			Labels:          map[string]string{market.Label: s.Name, kind.ManagedByLabel: kind.ManagedBy},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", UID: "r", Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}))
}

// One object that no Go client can read, and one of a size that nobody should store, are left
// out alone: by a controller that watches and by one that starts later.
func TestOneBadObjectIsLeftOutAlone(t *testing.T) {
	w, _ := newShopWorld(t)
	w.start()
	shop := func(name string) *market.Shop {
		s := &market.Shop{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Spec: market.Spec{Pods: 1, Message: "hello"}}
		w.must(w.Create(w.ctx, s))
		return s
	}
	bad, large := shop(poisoned), shop("large")
	w.awaitShop(bad, observe.ReasonObjectsMissing, condition.Reconciling)
	edit(w, large, func(s *market.Shop) { s.Annotations = map[string]string{"a": strings.Repeat("a", 200<<10)} })
	poison := `{"status":{"conditions":[{"type":"A","status":"True","reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00x5Z"}]}}`
	object := &unstructured.Unstructured{} // nothing typed reads the answer
	object.SetGroupVersionKind(market.Kind.GVK)
	object.SetNamespace(w.namespace)
	object.SetName(bad.Name)
	w.must(w.Status().Patch(w.ctx, object, client.RawPatch(types.MergePatchType, []byte(poison))))

	w.awaitShop(shop("after"), observe.ReasonObjectsMissing, condition.Reconciling)
	w.options.Grace = time.Second
	w.start()
	w.awaitShop(shop("last"), observe.ReasonObjectsMissing, condition.Stalled)
}
