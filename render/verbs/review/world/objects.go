package world

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
)

// IDOf returns the ID of an object.
func IDOf(o *unstructured.Unstructured) manifest.ID { return manifest.Object{Unstructured: o}.ID() }

// KindOf returns the kind and group of an object: "Deployment.apps".
func KindOf(o *unstructured.Unstructured) string { return o.GroupVersionKind().GroupKind().String() }

// NamespaceOf returns the namespace of an object in the cluster.
func NamespaceOf(o *unstructured.Unstructured) string {
	return manifest.Object{Unstructured: o}.NamespaceOrDefault()
}

// Text returns a field, or nothing if it is no text.
func Text(o *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}

// Items returns the objects of a list.
func Items(object map[string]any, path ...string) (items []map[string]any) {
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	list, _ := value.([]any)
	for _, item := range list {
		if item, ok := item.(map[string]any); ok {
			items = append(items, item)
		}
	}
	return items
}

// Both returns a value of an object before and after a change. It is zero where there is no object.
func Both[T any](c diff.Change, of func(*unstructured.Unstructured) T) (was, is T) {
	if c.Before != nil {
		was = of(c.Before)
	}
	if c.After != nil {
		is = of(c.After)
	}
	return was, is
}
