package setup

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind"
)

// ObservedTypes returns the child types that the status of a kind depends on.
func ObservedTypes(k kind.Kind) (types []schema.GroupVersionKind) {
	for _, child := range k.Children() {
		if !child.Unobserved {
			types = append(types, child.GVK)
		}
	}
	return types
}

// NewObject returns an empty object: of its Go type if client-go has one, which takes less
// memory to watch, otherwise unstructured.
func NewObject(gvk schema.GroupVersionKind) client.Object {
	if known, err := clientgoscheme.Scheme.New(gvk); err == nil {
		return known.(client.Object)
	}
	return untyped(gvk)
}

func untyped(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	return object
}

// NewList returns an empty list of NewObject's type.
func NewList(gvk schema.GroupVersionKind) client.ObjectList {
	gvk.Kind += "List"
	if known, err := clientgoscheme.Scheme.New(gvk); err == nil {
		return known.(client.ObjectList)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk)
	return list
}
