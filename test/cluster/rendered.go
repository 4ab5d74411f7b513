package cluster

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
)

// Rendered returns the rendered objects of a defaulted object, whose kind must be among all.
func Rendered(object client.Object, scheme *runtime.Scheme, all []kind.Kind) ([]*unstructured.Unstructured, error) {
	gvk, err := apiutil.GVKForObject(object, scheme)
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	source, kinds := &unstructured.Unstructured{Object: content}, &registry.Kinds{All: all}
	source.SetGroupVersionKind(gvk)
	rendered, err := kinds.Expand(source)
	if err != nil {
		return nil, err
	}
	for _, r := range rendered.Objects {
		if err := kinds.HashName(r, source); err != nil {
			return nil, err
		}
	}
	return rendered.Objects, nil
}
