package kindtest

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"example.com/gatehouse/controller/observe"
	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
	"example.com/gatehouse/kind/registry"
)

// Cluster is a simulated cluster with one source object of a kind, whose Go type is T, and its children.
// No other program runs in it: the test changes the children as controllers and the kubelet would.
type Cluster[T any] struct {
	// Now is the time in the cluster, at first 2026-01-31T09:00:00Z.
	Now time.Time

	// Grace is how long a child may be missing before the object is stalled, at first two minutes.
	Grace time.Duration

	t        testing.TB
	kinds    *registry.Kinds
	kind     kind.Kind
	owner    *unstructured.Unstructured
	rendered []*unstructured.Unstructured // the children of the owner at the next Sync
	objects  []*unstructured.Unstructured // the live objects
	uids     int
	wake     time.Time // of the last decision
}

// NewCluster returns a Cluster with an object of a kind and no children: Sync adds them. It fails the
// test if render refuses the object, or the kind has a Gate: the controller of the gate decides the
// status of such a kind.
func NewCluster[T any, P pointer[T]](t testing.TB, k kind.Kind, object P, others ...kind.Kind) *Cluster[T] {
	t.Helper()
	if k.Gate() != "" {
		t.Fatalf("%s has a Gate: a Cluster does not decide its status", k.GVK().Kind)
	}
	c := &Cluster[T]{
		Now: time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC), Grace: 2 * time.Minute,
		t: t, kinds: newKinds(t, k, others), kind: k,
	}
	c.setOwner(object)
	return c
}

func (c *Cluster[T]) setOwner(object kind.Object) {
	c.t.Helper()
	source := toUnstructured(c.t, c.kind.GVK(), object)
	source.SetNamespace(cmp.Or(source.GetNamespace(), metav1.NamespaceDefault))
	stored, rendered := expand(c.t, c.kinds, source)
	c.store(stored, c.owner)
	c.owner = stored
	c.rendered = rendered
}

// Sync applies the rendered objects and prunes the rest, as a GitOps tool does. Objects that exist keep
// their status.
func (c *Cluster[T]) Sync() {
	c.t.Helper()
	for _, u := range slices.Clone(c.objects) {
		if metav1.GetControllerOf(u) == nil && c.isChild(u) && index(c.rendered, u) < 0 {
			c.remove(u)
		}
	}
	for _, u := range c.rendered {
		c.put(u.DeepCopy())
	}
}

// Put adds objects to the cluster, or replaces objects of the same kind and name. The default namespace
// is the one of the source object. The controller sees only objects with the labels of rendered
// objects.
func (c *Cluster[T]) Put(objects ...kind.Object) {
	c.t.Helper()
	for _, o := range objects {
		gvk, err := apiutil.GVKForObject(o, scheme.Scheme)
		if err != nil {
			c.t.Fatal(err)
		}
		u := toUnstructured(c.t, gvk, o)
		u.SetNamespace(cmp.Or(u.GetNamespace(), c.owner.GetNamespace()))
		c.put(u)
	}
}

// Change changes the objects of a Go type, such as corev1.Pod, with the names, or all if there are no
// names. An immutable object may be named without its hash. For the Go type of the kind, Change changes
// the source object, and the next Sync applies its new children. It fails the test if an object is
// missing.
func Change[O any, P pointer[O], T any](c *Cluster[T], change func(*O), names ...string) {
	c.t.Helper()
	if owner, ok := c.typed().(P); ok {
		change(owner)
		c.setOwner(owner)
		return
	}
	for _, u := range find[P](c, names) {
		changed := P(new(O))
		convert(c.t, u.Object, changed)
		change(changed)
		c.put(toUnstructured(c.t, u.GroupVersionKind(), changed))
	}
}

// Delete deletes objects and the objects that they control. Names are as for Change.
func Delete[O any, P pointer[O], T any](c *Cluster[T], names ...string) {
	c.t.Helper()
	for _, u := range find[P](c, names) {
		c.remove(u)
	}
}

// find returns the objects of a Go type with the names, or all. It fails the test if any is missing.
func find[P kind.Object, T any](c *Cluster[T], names []string) (found []*unstructured.Unstructured) {
	c.t.Helper()
	for _, u := range c.objects {
		isNamed := func(name string) bool { return u.GetName() == name || registry.IsHashName(u.GetName(), name) }
		if _, ok := setup.NewObject(u.GroupVersionKind()).(P); ok &&
			(len(names) == 0 || slices.ContainsFunc(names, isNamed)) {
			found = append(found, u)
		}
	}
	if len(found) < max(len(names), 1) {
		c.t.Fatalf("the cluster has %d objects %T %q", len(found), *new(P), names)
	}
	return found
}

// Pass lets time pass. At each Wake of a decision, the controller decides the status again.
func (c *Cluster[T]) Pass(d time.Duration) {
	c.t.Helper()
	end := c.Now.Add(d)
	for !c.wake.IsZero() && !c.wake.After(end) {
		c.Now = c.wake
		c.Status()
	}
	c.Now = end
}

// Status decides the status as the controller does, and returns the source object with it. It fails the
// test if kubectl wait, Flux or Argo CD would misread the status, if a second decision differs, if
// Definition.Status changes its argument, or if Wake is not in the future.
func (c *Cluster[T]) Status() *T {
	c.t.Helper()
	decided := c.decide()
	c.owner.Object["status"] = decided.Status
	c.wake = decided.Wake
	for _, problem := range condition.Violations(c.owner) {
		c.t.Errorf("status: %s: %v", problem, decided.Status)
	}
	if observed, _, _ := unstructured.NestedInt64(decided.Status,
		"observedGeneration"); observed != c.owner.GetGeneration() {
		c.t.Errorf("status: observedGeneration is not the generation, %d: %v", c.owner.GetGeneration(), decided.Status)
	}
	if again := c.decide().Status; !reflect.DeepEqual(again, decided.Status) {
		c.t.Errorf("status: a second decision differs: %v: %v", decided.Status, again)
	}
	if !c.wake.IsZero() && !c.wake.After(c.Now) {
		c.t.Fatalf("Wake is %s, which is not after Now, %s: have Status return a later time, or zero", c.wake, c.Now)
	}
	return any(c.typed()).(*T)
}

// decide decides the status. It fails the test if Definition.Status changes its argument.
func (c *Cluster[T]) decide() observe.Decision {
	c.t.Helper()
	owner := c.typed()
	children := c.children()
	decided, err := observe.Decide(c.kind, owner, children, c.Now, c.Grace)
	if err = cmp.Or(err, decided.Failure); err != nil {
		c.t.Fatal(err)
	}
	if !reflect.DeepEqual(owner, c.typed()) || !reflect.DeepEqual(children, c.children()) {
		c.t.Error("Status changes its argument: have it change a DeepCopy")
	}
	return decided
}

func (c *Cluster[T]) typed() kind.Object {
	object := c.kind.New()
	convert(c.t, c.owner.Object, object)
	return object
}

// children returns the controller's view of the live objects.
func (c *Cluster[T]) children() (children []kind.Object) {
	controller := observe.Controller(c.kind)
	for _, u := range c.objects {
		object := setup.NewObject(u.GroupVersionKind())
		convert(c.t, u.Object, object)
		if seen := controller.Trimmed(object, u.GroupVersionKind()); seen != nil && c.isChild(u) {
			children = append(children, seen)
		}
	}
	return children
}

// isChild reports whether an object has the namespace and labels of a child.
func (c *Cluster[T]) isChild(u *unstructured.Unstructured) bool {
	labels := u.GetLabels()
	return u.GetNamespace() == c.owner.GetNamespace() && labels[c.kind.Label()] == c.owner.GetName() &&
		labels[kind.ManagedByLabel] == kind.ManagedBy
}

// put adds or replaces an object.
func (c *Cluster[T]) put(u *unstructured.Unstructured) {
	if i := index(c.objects, u); i >= 0 {
		c.store(u, c.objects[i])
		c.objects[i] = u
		return
	}
	c.store(u, nil)
	c.objects = append(c.objects, u)
}

// store sets the metadata that the API server sets when an object is created, or replaces another. It
// keeps the status.
func (c *Cluster[T]) store(u, was *unstructured.Unstructured) {
	if was == nil {
		c.uids++
		u.SetUID(types.UID(fmt.Sprintf("uid-%d", c.uids)))
		u.SetCreationTimestamp(metav1.NewTime(c.Now))
		u.SetGeneration(1)
		return
	}
	u.SetUID(was.GetUID())
	u.SetCreationTimestamp(was.GetCreationTimestamp())
	u.SetGeneration(was.GetGeneration())
	if status, ok := was.Object["status"]; ok && u.Object["status"] == nil {
		u.Object["status"] = status
	}
	if !reflect.DeepEqual(desired(u), desired(was)) {
		u.SetGeneration(was.GetGeneration() + 1)
	}
}

// desired returns the content of an object without metadata and status. A change of it raises the
// generation.
func desired(u *unstructured.Unstructured) map[string]any {
	content := maps.Clone(u.Object)
	delete(content, "metadata")
	delete(content, "status")
	return content
}

// remove removes an object and the objects that it controls.
func (c *Cluster[T]) remove(u *unstructured.Unstructured) {
	c.objects = slices.DeleteFunc(c.objects, func(o *unstructured.Unstructured) bool {
		return o == u || metav1.IsControlledBy(o, u)
	})
}

// index returns the index of the object with the kind and name of u, or -1.
func index(objects []*unstructured.Unstructured, u *unstructured.Unstructured) int {
	return slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GroupVersionKind() == u.GroupVersionKind() && o.GetNamespace() == u.GetNamespace() &&
			o.GetName() == u.GetName()
	})
}
