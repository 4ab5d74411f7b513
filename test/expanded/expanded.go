// Package expanded gives tests what an object is rendered to, as typed objects.
package expanded

import (
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
)

// First is the first of the objects that an object is rendered to. One that is immutable has
// the name that it has before it gets its hash.
func First[T any](k kind.Kind, owner kind.Object) *T {
	rendered, err := registry.Expand(&k, owner)
	if err != nil {
		panic(err)
	}
	first := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(rendered[0].Object, first); err != nil {
		panic(err)
	}
	return first
}
