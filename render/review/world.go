package review

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/diff"
	"example.com/gatehouse/render/object"
)

// world is an environment before and after a change.
type world struct {
	diff.Environment
	before, after side
	refused       map[Object]bool // what the API server refuses to change
}

// side is an environment before a change, or after it.
type side struct {
	objects []*unstructured.Unstructured
	// ats, atPods and caches are by the ID of the At or Memcached: the Ats, their Pods, and
	// the Deployments of the Memcacheds.
	ats, atPods, caches map[Object]*unstructured.Unstructured
	autoscalers         map[Object]autoscaler                 // by what they scale
	others              map[Object]*unstructured.Unstructured // of all other kinds that people write
}

func newWorld(e diff.Environment) *world {
	before, after := slices.Clone(e.Unchanged), slices.Clone(e.Unchanged)
	e.Changes = slices.DeleteFunc(slices.Clone(e.Changes), func(c diff.Change) bool {
		if c.IsStray {
			before, after = append(before, c.Before), append(after, c.Before)
		}
		return c.IsStray
	})
	for _, c := range e.Changes {
		if c.Before != nil {
			before = append(before, c.Before)
		}
		if c.After != nil {
			after = append(after, c.After)
		}
	}
	return &world{Environment: e, before: newSide(e.Kinds, before), after: newSide(e.Kinds, after), refused: map[Object]bool{}}
}

func newSide(kinds *registry.Kinds, objects []*unstructured.Unstructured) side {
	s := side{objects, map[Object]*unstructured.Unstructured{}, map[Object]*unstructured.Unstructured{}, map[Object]*unstructured.Unstructured{}, map[Object]autoscaler{}, map[Object]*unstructured.Unstructured{}}
	for _, o := range objects {
		if a, ok := newAutoscaler(o); ok {
			s.autoscalers[Object(a.Target)] = a
		}
		owner, ok := ownerOf(kinds, o)
		switch {
		case !ok:
		case o.GetKind() == cnatv1alpha1.KindAt:
			s.ats[owner] = o
		case o.GetKind() == cachev1alpha1.KindMemcached: // its Deployment says what it is
		case o.GetKind() == "Pod" && owner.Kind == cnatv1alpha1.KindAt:
			s.atPods[owner] = o
		case o.GetKind() == "Deployment" && owner.Kind == cachev1alpha1.KindMemcached:
			s.caches[owner] = o
		case owner == idOf(o):
			s.others[owner] = o
		}
	}
	return s
}

// ownerOf is what people wrote that an object is, or was rendered from.
func ownerOf(kinds *registry.Kinds, o *unstructured.Unstructured) (owner Object, ok bool) {
	if kind := kinds.Find(o.GroupVersionKind()); kind != nil {
		return idOf(o), true
	}
	kind := kinds.RenderedFrom(o)
	if kind == nil {
		return Object{}, false
	}
	return Object{kind.GVK.Group, kind.GVK.Kind, o.GetNamespace(), o.GetLabels()[kind.Label]}, true
}

func idOf(o *unstructured.Unstructured) Object { return Object(object.Object{Unstructured: o}.ID()) }

// changedOwners are the Ats or Memcacheds of which something changes.
func (w *world) changedOwners(kind string) []Object {
	owners := map[Object]bool{}
	for _, c := range w.Changes {
		for _, o := range []*unstructured.Unstructured{c.Before, c.After} {
			if o == nil {
				continue
			}
			if owner, ok := ownerOf(w.Kinds, o); ok && owner.Kind == kind {
				owners[owner] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(owners), compareObjects)
}

func compareObjects(a, b Object) int {
	return compare(Effect{Object: a}, Effect{Object: b})
}

// namespaceOf is the namespace that an object will be in; empty for one of the cluster's is
// not told from one that names none.
func namespaceOf(o *unstructured.Unstructured) string {
	return object.Object{Unstructured: o}.NamespaceOrDefault()
}

func text(o *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}
