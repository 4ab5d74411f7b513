package kindtest

import (
	"cmp"
	"fmt"
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
	owner    kind.Object
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
	c.setOwner(object.DeepCopyObject().(kind.Object), 1)
	return c
}

// setOwner makes a changed object the one of the cluster.
func (c *Cluster[T]) setOwner(changed kind.Object, generation int64) {
	c.t.Helper()
	changed.SetNamespace(cmp.Or(changed.GetNamespace(), metav1.NamespaceDefault))
	content := write(c.t, c.kind.GVK(), changed)
	for _, name := range []string{"uid", "generation", "creationTimestamp"} {
		unstructured.RemoveNestedField(content, "metadata", name)
	}
	stored, objects := expand(c.t, c.kinds, content)
	if status, ok := content["status"]; ok {
		stored["status"] = status
	}
	created := metav1.NewTime(c.Now)
	if c.owner != nil {
		created = c.owner.GetCreationTimestamp()
	}
	c.owner, c.rendered = c.kind.New(), objects
	convert(c.t, stored, c.owner)
	c.owner.SetUID("owner")
	c.owner.SetCreationTimestamp(created)
	c.owner.SetGeneration(generation)
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
		u := &unstructured.Unstructured{Object: write(c.t, gvk, o)}
		if u.GetNamespace() == "" {
			u.SetNamespace(c.owner.GetNamespace())
		}
		c.put(u)
	}
}

// Change changes the objects of a Go type, such as *corev1.Pod: those of some names or, without any,
// all. The name of an immutable object may be the one without the hash. Of the Go type of the kind it
// changes the object itself, and what that is rendered to is in the cluster after the next Sync.
func Change[O any, P pointer[O], T any](c *Cluster[T], change func(*O), names ...string) {
	c.t.Helper()
	if owner, ok := c.owner.DeepCopyObject().(P); ok {
		change(owner)
		c.setOwner(owner, c.owner.GetGeneration()+1)
		return
	}
	for _, u := range find[P](c, names) {
		changed := P(new(O))
		convert(c.t, u.Object, changed)
		change(changed)
		c.put(&unstructured.Unstructured{Object: write(c.t, u.GroupVersionKind(), changed)})
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

// put adds an object, or updates the one of its name, as the API server does.
func (c *Cluster[T]) put(u *unstructured.Unstructured) {
	i := index(c.objects, u)
	if i < 0 {
		c.uids++
		u.SetUID(types.UID(fmt.Sprintf("uid-%d", c.uids)))
		u.SetCreationTimestamp(metav1.NewTime(c.Now))
		u.SetGeneration(1)
		c.objects = append(c.objects, u)
		return
	}
	was := c.objects[i]
	u.SetUID(was.GetUID())
	u.SetCreationTimestamp(was.GetCreationTimestamp())
	u.SetGeneration(was.GetGeneration())
	if !reflect.DeepEqual(u.Object["spec"], was.Object["spec"]) {
		u.SetGeneration(was.GetGeneration() + 1)
	}
	if status, ok := was.Object["status"]; ok && u.Object["status"] == nil {
		u.Object["status"] = status
	}
	c.objects[i] = u
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

// isMine reports whether an object has the labels of what is rendered from the object of the kind.
func (c *Cluster[T]) isMine(u *unstructured.Unstructured) bool {
	labels := u.GetLabels()
	return u.GetNamespace() == c.owner.GetNamespace() && labels[c.kind.Label()] == c.owner.GetName() && labels[kind.ManagedByLabel] == kind.ManagedBy
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
