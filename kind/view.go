package kind

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// View is the input of Definition.Warnings: a rendered environment, which it must not change.
type View[T any] struct {
	// Objects are the source objects of the kind, sorted by namespace and name.
	Objects []Rendered[*T]

	Environment
}

// Rendered is a source object and its rendered objects.
type Rendered[O any] struct {
	// Object is the committed object. Missing fields are empty, except for the defaults of
	// Definition.KeepDefaults.
	Object O

	// Children are its rendered objects, after the overrides.
	Children []*unstructured.Unstructured
}

// Child returns the first child of a group and kind, or nil.
func (r Rendered[O]) Child(group, kind string) *unstructured.Unstructured {
	for _, child := range r.Children {
		if gvk := child.GroupVersionKind(); gvk.Group == group && gvk.Kind == kind {
			return child
		}
	}
	return nil
}

// Environment is a rendered environment.
type Environment struct {
	// All are all objects of the environment.
	All []*unstructured.Unstructured

	// CRD is the CustomResourceDefinition of the kind, from the environment or from outside; nil
	// if render knows none.
	CRD *unstructured.Unstructured

	// Now is the time of rendering.
	Now time.Time
}

// Warning is about a valid object with a likely mistake.
type Warning struct {
	// Object is one of View.Objects.
	Object metav1.Object

	// Field is the path of the field with the mistake, such as spec.schedule; empty for the
	// whole object.
	Field string

	// Message names the mistake and a remedy.
	Message string

	// IfNew limits the warning to an object that is new in rendered/, or has a new rendered object.
	IfNew bool
}
