package registry

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
)

// View is what a rendered environment has of a kind.
type View struct {
	Kind *kind.Kind

	// Objects are all objects of the kind, sorted by namespace and name.
	Objects []kind.Rendered[*unstructured.Unstructured]

	kind.Environment
}

// Views returns the views of all kinds that are rendered, in the order of the list. Definitions
// are CustomResourceDefinitions that something else brings.
func (k *Kinds) Views(e kind.Environment, definitions []*unstructured.Unstructured) []View {
	definitions = slices.Clone(definitions)
	written, rendered := map[*kind.Kind][]*unstructured.Unstructured{}, map[ownerKey][]*unstructured.Unstructured{}
	for _, o := range e.All {
		if o.GetKind() == "CustomResourceDefinition" {
			definitions = append(definitions, o)
		}
		if found := k.Find(o.GroupVersionKind()); found != nil {
			written[found] = append(written[found], o)
		} else if from := k.RenderedFrom(o); from != nil {
			owner := ownerKey{from, namespaceOf(o), o.GetLabels()[from.Label()]}
			rendered[owner] = append(rendered[owner], o)
		}
	}
	var views []View
	for of := range k.Rendered() {
		view := View{Kind: of, Environment: e}
		view.CRD = definitionOf(of, definitions)
		objects := written[of]
		slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int {
			return cmp.Or(cmp.Compare(namespaceOf(a), namespaceOf(b)), cmp.Compare(a.GetName(), b.GetName()))
		})
		for _, o := range objects {
			children := rendered[ownerKey{of, namespaceOf(o), o.GetName()}]
			view.Objects = append(view.Objects, kind.Rendered[*unstructured.Unstructured]{Object: o, Children: children})
		}
		views = append(views, view)
	}
	return views
}

// ownerKey identifies an object that something was rendered from.
type ownerKey struct {
	kind            *kind.Kind
	namespace, name string
}

// namespaceOf returns the namespace that an object with namespaces will be in.
func namespaceOf(o metav1.Object) string { return cmp.Or(o.GetNamespace(), metav1.NamespaceDefault) }

// definitionOf returns the CustomResourceDefinition of a kind among objects, nil where there is
// none.
func definitionOf(k *kind.Kind, objects []*unstructured.Unstructured) *unstructured.Unstructured {
	for _, o := range objects {
		group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
		name, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
		if group == k.GVK().Group && name == k.GVK().Kind {
			return o
		}
	}
	return nil
}

// Page calls the Page of a kind that has one.
func (v View) Page() (kind.Page, error) {
	return call("Page of "+v.Kind.GVK().Kind, func() (kind.Page, error) { return v.Kind.Page(v.typed(), v.Environment), nil })
}

// Warnings returns the warnings of the kind about its objects.
func (v View) Warnings() ([]kind.Warning, error) {
	if !v.Kind.HasWarnings() || len(v.Objects) == 0 {
		return nil, nil
	}
	return call("Warnings of "+v.Kind.GVK().Kind, func() ([]kind.Warning, error) { return v.Kind.Warnings(v.typed(), v.Environment), nil })
}

// typed returns the objects as objects of the kind's Go type.
func (v View) typed() []kind.Rendered[kind.Object] {
	typed := make([]kind.Rendered[kind.Object], len(v.Objects))
	for i, o := range v.Objects {
		object, _ := read(v.Kind, o.Object) // Expand has read it
		typed[i] = kind.Rendered[kind.Object]{Object: object, Children: o.Children}
	}
	return typed
}

// IsInHealthyPhase reports whether an object of a cluster, as its controller last saw it, is in one
// of the HealthyPhases of its kind.
func (k *Kinds) IsInHealthyPhase(live *unstructured.Unstructured) bool {
	found := k.Find(live.GroupVersionKind())
	observed, _, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration")
	phase, _, _ := unstructured.NestedString(live.Object, "status", "phase")
	return found != nil && observed == live.GetGeneration() && slices.Contains(found.HealthyPhases(), phase)
}
