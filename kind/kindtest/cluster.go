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

// Cluster is a cluster that has one object of a kind, of the Go type T, and what was rendered from
// the object. Nothing in it happens by itself: the test says what becomes of the objects.
type Cluster[T any] struct {
	// Now is the time in the cluster.
	Now time.Time

	// Grace is for how long something may be missing before the object is stalled.
	Grace time.Duration

	t        testing.TB
	kinds    *registry.Kinds
	kind     kind.Kind
	owner    *unstructured.Unstructured
	rendered []*unstructured.Unstructured // what the owner is rendered to
	objects  []*unstructured.Unstructured
	uids     int
	wake     time.Time // of the last status
}

// NewCluster returns a cluster that has an object of a kind, and nothing yet that is rendered from the
// object. It fails the test where render refuses the object, and for a kind with a Gate: another
// controller decides its status.
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

// setOwner makes an object the one of the cluster.
func (c *Cluster[T]) setOwner(object kind.Object) {
	c.t.Helper()
	written := write(c.t, c.kind.GVK(), object)
	written.SetNamespace(cmp.Or(written.GetNamespace(), metav1.NamespaceDefault))
	stored, rendered := expand(c.t, c.kinds, written)
	c.store(stored, c.owner)
	c.owner, c.rendered = stored, rendered
}

// Sync brings into the cluster what the object is rendered to, as a GitOps tool does, and removes
// what else was rendered from the object. A new object has no status; the others keep theirs.
func (c *Cluster[T]) Sync() {
	c.t.Helper()
	for _, u := range slices.Clone(c.objects) {
		if metav1.GetControllerOf(u) == nil && c.isMine(u) && index(c.rendered, u) < 0 {
			c.remove(u)
		}
	}
	for _, u := range c.rendered {
		c.put(u.DeepCopy())
	}
}

// Put adds objects to the cluster, in the place of those of the same name. The controller sees those
// with the labels that rendered ones have.
func (c *Cluster[T]) Put(objects ...kind.Object) {
	c.t.Helper()
	for _, o := range objects {
		gvk, err := apiutil.GVKForObject(o, scheme.Scheme)
		if err != nil {
			c.t.Fatal(err)
		}
		u := write(c.t, gvk, o)
		u.SetNamespace(cmp.Or(u.GetNamespace(), c.owner.GetNamespace()))
		c.put(u)
	}
}

// Change changes the objects of a Go type, such as *corev1.Pod: those of some names or, without any,
// all. The name of an immutable object may be the one without the hash. Of the Go type of the kind it
// changes the object itself, and what that is rendered to is in the cluster after the next Sync.
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
		c.put(write(c.t, u.GroupVersionKind(), changed))
	}
}

// Delete removes the objects of a Go type, and what was made from them; which ones as for Change.
func Delete[O any, P pointer[O], T any](c *Cluster[T], names ...string) {
	c.t.Helper()
	for _, u := range find[P](c, names) {
		c.remove(u)
	}
}

// find returns the objects of a Go type and of some names. It fails the test where there are none.
func find[P kind.Object, T any](c *Cluster[T], names []string) (found []*unstructured.Unstructured) {
	c.t.Helper()
	for _, u := range c.objects {
		isNamed := func(name string) bool { return u.GetName() == name || registry.IsHashName(u.GetName(), name) }
		if _, ok := setup.NewObject(u.GroupVersionKind()).(P); ok && (len(names) == 0 || slices.ContainsFunc(names, isNamed)) {
			found = append(found, u)
		}
	}
	if len(found) < max(len(names), 1) {
		c.t.Fatalf("the cluster has %d of the objects %T %q", len(found), *new(P), names)
	}
	return found
}

// Pass lets time go by, and has the controller decide the status whenever it asked to be woken.
func (c *Cluster[T]) Pass(d time.Duration) {
	c.t.Helper()
	end := c.Now.Add(d)
	for !c.wake.IsZero() && !c.wake.After(end) {
		c.Now = c.wake
		c.Status()
	}
	c.Now = end
}

// Status decides the status of the object as the controller does, and returns the object with that
// status. It fails the test where the status is not one that kubectl wait, Flux and Argo CD read
// right, where it is another when it is decided again, and where Status of the kind changes its
// argument or asks to be woken in the past.
func (c *Cluster[T]) Status() *T {
	c.t.Helper()
	decided := c.decide()
	c.owner.Object["status"], c.wake = decided.Status, decided.Wake
	for _, problem := range condition.Violations(c.owner) {
		c.t.Errorf("status: %s: %v", problem, decided.Status)
	}
	if observed, _, _ := unstructured.NestedInt64(decided.Status, "observedGeneration"); observed != c.owner.GetGeneration() {
		c.t.Errorf("status: observedGeneration is not the generation, %d: %v", c.owner.GetGeneration(), decided.Status)
	}
	if again := c.decide().Status; !reflect.DeepEqual(again, decided.Status) {
		c.t.Errorf("status: decided again, it is another: %v: %v", decided.Status, again)
	}
	if !c.wake.IsZero() && !c.wake.After(c.Now) {
		c.t.Fatalf("Wake is %s, and it is %s: have Status return a time to come", c.wake, c.Now)
	}
	return any(c.typed()).(*T)
}

// decide decides the status. It fails the test where Status of the kind changes its argument.
func (c *Cluster[T]) decide() observe.Decision {
	c.t.Helper()
	owner, children := c.typed(), c.children()
	decided, err := observe.Decide(c.kind, owner, children, c.Now, c.Grace)
	if err = cmp.Or(err, decided.Failure); err != nil {
		c.t.Fatal(err)
	}
	if !reflect.DeepEqual(owner, c.typed()) || !reflect.DeepEqual(children, c.children()) {
		c.t.Error("Status changes its argument: have it change a DeepCopy")
	}
	return decided
}

// typed returns the object as the Go type of the kind.
func (c *Cluster[T]) typed() kind.Object {
	object := c.kind.New()
	convert(c.t, c.owner.Object, object)
	return object
}

// children returns what the controller sees of the objects.
func (c *Cluster[T]) children() (children []kind.Object) {
	controller := observe.Controller(c.kind)
	for _, u := range c.objects {
		object := setup.NewObject(u.GroupVersionKind())
		convert(c.t, u.Object, object)
		if seen := controller.Trimmed(object, u.GroupVersionKind()); seen != nil && c.isMine(u) {
			children = append(children, seen)
		}
	}
	return children
}

// isMine reports whether an object has the labels of what is rendered from the object of the kind.
func (c *Cluster[T]) isMine(u *unstructured.Unstructured) bool {
	labels := u.GetLabels()
	return u.GetNamespace() == c.owner.GetNamespace() && labels[c.kind.Label()] == c.owner.GetName() && labels[kind.ManagedByLabel] == kind.ManagedBy
}

// put adds an object, or updates the one of its name.
func (c *Cluster[T]) put(u *unstructured.Unstructured) {
	if i := index(c.objects, u); i >= 0 {
		c.store(u, c.objects[i])
		c.objects[i] = u
		return
	}
	c.store(u, nil)
	c.objects = append(c.objects, u)
}

// store gives an object what the API server sets when the object takes the place of another; nil for
// none.
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
	if !reflect.DeepEqual(wanted(u), wanted(was)) {
		u.SetGeneration(was.GetGeneration() + 1)
	}
}

// wanted returns what raises the generation of an object when it changes.
func wanted(u *unstructured.Unstructured) map[string]any {
	content := maps.Clone(u.Object)
	delete(content, "metadata")
	delete(content, "status")
	return content
}

// remove removes an object and what it controls.
func (c *Cluster[T]) remove(u *unstructured.Unstructured) {
	c.objects = slices.DeleteFunc(c.objects, func(o *unstructured.Unstructured) bool {
		return o == u || metav1.IsControlledBy(o, u)
	})
}

// index returns where an object of the kind and name of another is; -1 for nowhere.
func index(objects []*unstructured.Unstructured, u *unstructured.Unstructured) int {
	return slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GroupVersionKind() == u.GroupVersionKind() && o.GetNamespace() == u.GetNamespace() && o.GetName() == u.GetName()
	})
}
