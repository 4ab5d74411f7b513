package registry

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/crd"
)

// View is the part of a rendered environment that belongs to a kind.
type View struct {
	Kind *kind.Kind

	// Objects are all objects of the kind, sorted by namespace and name.
	Objects []kind.Rendered[*unstructured.Unstructured]

	kind.Environment
}

// Views returns the views of all rendered kinds, in the order of the list. Definitions are
// CustomResourceDefinitions from outside the environment.
func (k *Kinds) Views(e kind.Environment, definitions []*unstructured.Unstructured) []View {
	definitions = slices.Clone(definitions)
	sources := map[*kind.Kind][]*unstructured.Unstructured{}
	rendered := map[ownerKey][]*unstructured.Unstructured{}
	for _, o := range e.All {
		if crd.Is(o) {
			definitions = append(definitions, o)
		}
		if found := k.Find(o.GroupVersionKind()); found != nil {
			sources[found] = append(sources[found], o)
		} else if from := k.RenderedFrom(o); from != nil {
			owner := ownerKey{from, namespaceOf(o), o.GetLabels()[from.Label()]}
			rendered[owner] = append(rendered[owner], o)
		}
	}
	var views []View
	for of := range k.Rendered() {
		view := View{Kind: of, Environment: e}
		if i := slices.IndexFunc(definitions, func(o *unstructured.Unstructured) bool {
			return crd.Kind(o) == of.GVK().GroupKind()
		}); i >= 0 {
			view.CRD = definitions[i]
		}
		objects := sources[of]
		slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int {
			return cmp.Or(cmp.Compare(namespaceOf(a), namespaceOf(b)), cmp.Compare(a.GetName(), b.GetName()))
		})
		for _, o := range objects {
			children := rendered[ownerKey{of, namespaceOf(o), o.GetName()}]
			view.Objects = append(view.Objects, kind.Rendered[*unstructured.Unstructured]{Object: o,
				Children: children})
		}
		views = append(views, view)
	}
	return views
}

// ownerKey identifies a source object.
type ownerKey struct {
	kind            *kind.Kind
	namespace, name string
}

// namespaceOf returns the namespace of a namespaced object in a cluster.
func namespaceOf(o metav1.Object) string { return cmp.Or(o.GetNamespace(), metav1.NamespaceDefault) }

// Warnings returns the warnings of the kind about its objects.
func (v View) Warnings() ([]kind.Warning, error) {
	if v.Kind.Warnings == nil || len(v.Objects) == 0 {
		return nil, nil
	}
	return call("Warnings of "+v.Kind.GVK().Kind, func() ([]kind.Warning, error) {
		return v.Kind.Warnings(v.typed(), v.Environment), nil
	})
}

func (v View) typed() []kind.Rendered[kind.Object] {
	typed := make([]kind.Rendered[kind.Object], len(v.Objects))
	for i, o := range v.Objects {
		object, _ := decode(v.Kind, o.Object) // Expand decoded it before
		typed[i] = kind.Rendered[kind.Object]{Object: object, Children: o.Children}
	}
	return typed
}

// IsInHealthyPhase reports whether a live object is in one of the HealthyPhases of its kind, and its
// status is of its generation.
func (k *Kinds) IsInHealthyPhase(live *unstructured.Unstructured) bool {
	found := k.Find(live.GroupVersionKind())
	observed, _, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration")
	phase, _, _ := unstructured.NestedString(live.Object, "status", "phase")
	return found != nil && observed == live.GetGeneration() && slices.Contains(found.HealthyPhases(), phase)
}
