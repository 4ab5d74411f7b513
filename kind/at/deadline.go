package at

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind/crd"
)

// Deadline returns the last instant at which an At may start, seconds after it is due. It caps the
// seconds at the longest time.Duration.
func Deadline(due time.Time, seconds int64) time.Time {
	const most = int64(math.MaxInt64 / time.Second)
	return due.Add(time.Duration(min(seconds, most)) * time.Second)
}

// defaultPath is the path of the default of spec.startingDeadlineSeconds in a schema. With it, an
// environment sets the deadline of all its Ats.
var defaultPath = []string{"properties", "spec", "properties", "startingDeadlineSeconds", "default"}

// versionIndex returns the index of the rendered version in the CustomResourceDefinition of Ats.
func versionIndex(definition *unstructured.Unstructured) int {
	return slices.IndexFunc(crd.Versions(definition), func(v crd.Version) bool {
		return v.Name == cnatv1alpha1.SchemeGroupVersion.Version
	})
}

// defaultDeadline returns the default of startingDeadlineSeconds in the CustomResourceDefinition of
// Ats; 0 for none.
func defaultDeadline(definition *unstructured.Unstructured) int64 {
	i := versionIndex(definition)
	if i < 0 {
		return 0
	}
	seconds, _, _ := unstructured.NestedNumberAsFloat64(crd.Versions(definition)[i].Schema, defaultPath...)
	return int64(seconds)
}

// deadlinePatch returns the JSON patch operation that sets the default in the CustomResourceDefinition
// of Ats.
func deadlinePatch(definition *unstructured.Unstructured, seconds int64) string {
	i := max(0, versionIndex(definition))
	return fmt.Sprintf("{op: add, path: /spec/versions/%d/schema/openAPIV3Schema/%s, value: %d}", i,
		strings.Join(defaultPath, "/"), seconds)
}
