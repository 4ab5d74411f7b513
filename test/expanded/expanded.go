// Package expanded returns, for tests, what an object is rendered to, as a typed object.
package expanded

import (
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
)

// First returns the first object that owner is rendered to. The name of an immutable one has no hash
// yet.
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
