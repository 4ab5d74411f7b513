package kinds

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
)

// AtDefinition is the name of the CustomResourceDefinition of Ats.
const AtDefinition = "ats.cnat.programming-kubernetes.info"

// IsAtDefinition says whether an object is the CustomResourceDefinition of Ats.
func IsAtDefinition(o *unstructured.Unstructured) bool {
	gvk := o.GroupVersionKind()
	return gvk.Group == "apiextensions.k8s.io" && gvk.Kind == "CustomResourceDefinition" && o.GetName() == AtDefinition
}

// DefaultDeadline is what the API server fills in for spec.startingDeadlineSeconds of an
// At that has none, in seconds, if an object is the CustomResourceDefinition of Ats and has
// a default for it; 0 otherwise.
func DefaultDeadline(o *unstructured.Unstructured) int64 {
	if !IsAtDefinition(o) {
		return 0
	}
	version, _ := atVersion(o)
	seconds, _, _ := unstructured.NestedNumberAsFloat64(version, "schema", "openAPIV3Schema", "properties", "spec", "properties", "startingDeadlineSeconds", "default")
	return int64(seconds)
}

// DefaultDeadlinePatch is an operation of a JSON patch that gives a CustomResourceDefinition
// of Ats a default for spec.startingDeadlineSeconds.
func DefaultDeadlinePatch(definition *unstructured.Unstructured, seconds int64) string {
	_, index := atVersion(definition)
	return fmt.Sprintf("{op: add, path: /spec/versions/%d/schema/openAPIV3Schema/properties/spec/properties/startingDeadlineSeconds/default, value: %d}", index, seconds)
}

// atVersion is the version of Ats that Gatehouse reads, and its index.
func atVersion(definition *unstructured.Unstructured) (version map[string]any, index int) {
	versions, _, _ := unstructured.NestedFieldNoCopy(definition.Object, "spec", "versions")
	list, _ := versions.([]any)
	for i, item := range list {
		if version, _ := item.(map[string]any); version["name"] == cnatv1alpha1.SchemeGroupVersion.Version {
			return version, i
		}
	}
	return nil, 0
}
