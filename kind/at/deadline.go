package at

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
)

// Definition is the name of the CustomResourceDefinition of Ats. An environment says how
// late is too late by a default for StartingDeadline there.
const Definition = "ats.cnat.programming-kubernetes.info"

// Deadline returns the last instant at which an At may start that is due at an instant and may be
// so many seconds late. A number of seconds that no time.Duration holds counts as the longest.
func Deadline(due time.Time, seconds int64) time.Time {
	const most = int64(math.MaxInt64 / time.Second)
	return due.Add(time.Duration(min(seconds, most)) * time.Second)
}

// IsDefinition reports whether an object is the CustomResourceDefinition of Ats.
func IsDefinition(o *unstructured.Unstructured) bool {
	gvk := o.GroupVersionKind()
	return gvk.Group == "apiextensions.k8s.io" && gvk.Kind == "CustomResourceDefinition" && o.GetName() == Definition
}

// DefaultDeadline returns the default of StartingDeadline, in seconds, in a
// CustomResourceDefinition of Ats; 0 where there is none, and for any other object.
func DefaultDeadline(o *unstructured.Unstructured) int64 {
	if !IsDefinition(o) {
		return 0
	}
	version, _ := atVersion(o)
	seconds, _, _ := unstructured.NestedNumberAsFloat64(version, defaultDeadline()...)
	return int64(seconds)
}

// deadlinePatch returns an operation of a JSON patch that gives a CustomResourceDefinition of Ats
// a default of StartingDeadline.
func deadlinePatch(definition *unstructured.Unstructured, seconds int64) string {
	_, index := atVersion(definition)
	return fmt.Sprintf("{op: add, path: /spec/versions/%d/%s, value: %d}", index, strings.Join(defaultDeadline(), "/"), seconds)
}

// defaultDeadline returns the path of the default in a version of a CustomResourceDefinition.
func defaultDeadline() []string {
	path := []string{"schema", "openAPIV3Schema"}
	for _, key := range StartingDeadline {
		path = append(path, "properties", key)
	}
	return append(path, "default")
}

// atVersion returns the version of Ats that Gatehouse reads, and its index.
func atVersion(definition *unstructured.Unstructured) (version map[string]any, index int) {
	versions, _, _ := unstructured.NestedFieldNoCopy(definition.Object, "spec", "versions")
	list, _ := versions.([]any)
	isRead := func(item any) bool {
		version, _ = item.(map[string]any)
		return version["name"] == cnatv1alpha1.SchemeGroupVersion.Version
	}
	if index = slices.IndexFunc(list, isRead); index < 0 {
		return nil, 0
	}
	return version, index
}
