// Package crd reads CustomResourceDefinitions that are plain data, as environments and clusters have
// them.
package crd

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Is reports whether an object is a CustomResourceDefinition.
func Is(o *unstructured.Unstructured) bool {
	return o.GroupVersionKind().GroupKind() == schema.GroupKind{Group: "apiextensions.k8s.io",
		Kind: "CustomResourceDefinition"}
}

// Kind returns the kind that a CustomResourceDefinition defines.
func Kind(crd *unstructured.Unstructured) schema.GroupKind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

// Version is a version of a CustomResourceDefinition.
type Version struct {
	Name   string
	Served bool

	// Schema is its OpenAPI schema, or nil.
	Schema map[string]any
}

// Versions returns the versions that a CustomResourceDefinition defines, in its order. The schemas
// are parts of the object.
func Versions(crd *unstructured.Unstructured) []Version {
	field, _, _ := unstructured.NestedFieldNoCopy(crd.Object, "spec", "versions")
	list, _ := field.([]any)
	versions := make([]Version, len(list))
	for i, item := range list {
		content, _ := item.(map[string]any)
		versions[i].Name, _ = content["name"].(string)
		versions[i].Served, _ = content["served"].(bool)
		found, _, _ := unstructured.NestedFieldNoCopy(content, "schema", "openAPIV3Schema")
		versions[i].Schema, _ = found.(map[string]any)
	}
	return versions
}

// Serves reports whether a CustomResourceDefinition serves a version.
func Serves(crd *unstructured.Unstructured, version string) bool {
	return slices.ContainsFunc(Versions(crd), func(v Version) bool { return v.Name == version && v.Served })
}
