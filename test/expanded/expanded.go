// Package expanded returns the rendered objects of a source object to tests, as typed objects.
package expanded

import (
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
)

// First returns the first rendered object of owner. The name of an immutable object has no hash yet.
func First[T any](k kind.Kind, owner kind.Object) *T {
	rendered, err := registry.Expand(&k, owner)
	if err != nil {
		panic(err)
	}
	first := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(rendered.Objects[0].Object, first); err != nil {
		panic(err)
	}
	return first
}
