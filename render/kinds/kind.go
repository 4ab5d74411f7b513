package kinds

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind that users write, and how it is rendered.
type Kind struct {
	// GVK is the version that is rendered.
	GVK schema.GroupVersionKind

	// Label is on everything that is rendered from an object of the kind; its value
	// is the name of that object.
	Label string

	// TimeField is the path of a field that is a time and text, like spec.schedule; empty
	// where the kind has none.
	TimeField string

	// Immutable says that what is rendered cannot be changed in a cluster, so that
	// its name ends in a hash of all that it is (see HashName).
	Immutable bool

	// expand returns what a valid, defaulted object is rendered to.
	expand func(*unstructured.Unstructured) ([]Object, error)
}

// All are the kinds that users write.
var All = []Kind{atKind, memcachedKind}

// Object is a typed object with its apiVersion and kind set.
type Object = runtime.Object

// Find returns the kind of an object, nil where it is not one that users write.
func Find(gvk schema.GroupVersionKind) *Kind {
	for i := range All {
		if All[i].GVK == gvk {
			return &All[i]
		}
	}
	return nil
}

// RenderedFrom returns the kind whose label an object carries, nil where it carries
// none.
func RenderedFrom(object *unstructured.Unstructured) *Kind {
	labels := object.GetLabels()
	for i := range All {
		if labels[All[i].Label] != "" {
			return &All[i]
		}
	}
	return nil
}

// Expand returns what a valid, defaulted object is rendered to: nothing where it
// is not of a kind that users write.
func Expand(object *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	kind := Find(object.GroupVersionKind())
	if kind == nil {
		return nil, nil
	}
	objects, err := kind.expand(object)
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
