package manifests

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
)

// Object is a typed object with its apiVersion and kind set.
type Object = runtime.Object

// expanders has the function that expands each kind that users write.
var expanders = map[schema.GroupVersionKind]func(*unstructured.Unstructured) ([]Object, error){
	cachev1alpha1.SchemeGroupVersion.WithKind(cachev1alpha1.KindMemcached): typed(Memcached),
	cnatv1alpha1.SchemeGroupVersion.WithKind(cnatv1alpha1.KindAt):          typed(At),
}

// typed adapts a function of a typed object to an untyped one.
func typed[T any](expand func(*T) []Object) func(*unstructured.Unstructured) ([]Object, error) {
	return func(u *unstructured.Unstructured) ([]Object, error) {
		var object T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &object); err != nil {
			return nil, err
		}
		return expand(&object), nil
	}
}

// Expand returns what a valid, defaulted object is rendered to: nothing where it
// is not of a kind that users write.
func Expand(object *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	expand, ok := expanders[object.GroupVersionKind()]
	if !ok {
		return nil, nil
	}
	objects, err := expand(object)
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	expanded := make([]*unstructured.Unstructured, len(objects))
	for i, o := range objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return nil, fmt.Errorf("write %T: %w", o, err)
		}
		dropEmpty(content)
		expanded[i] = &unstructured.Unstructured{Object: content}
	}
	return expanded, nil
}

// dropEmpty drops what a Go struct writes though nobody set it.
func dropEmpty(content map[string]any) {
	delete(content, "status")
	for _, pod := range [][]string{{"spec"}, {"spec", "template", "spec"}} {
		containers, _, _ := unstructured.NestedFieldNoCopy(content, append(pod, "containers")...)
		list, _ := containers.([]any)
		for _, c := range list {
			container, _ := c.(map[string]any)
			if resources, _ := container["resources"].(map[string]any); len(resources) == 0 {
				delete(container, "resources")
			}
		}
	}
}
