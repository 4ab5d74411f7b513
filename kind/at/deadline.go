package at

import (
	"fmt"
	"math"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
)

// Deadline returns the last instant at which an At may start that is due at an instant and may be
// so many seconds late. A number of seconds that no time.Duration holds counts as the longest.
func Deadline(due time.Time, seconds int64) time.Time {
	const most = int64(math.MaxInt64 / time.Second)
	return due.Add(time.Duration(min(seconds, most)) * time.Second)
}

// versionOf returns the version of Ats that Gatehouse reads in their CustomResourceDefinition, and
// its index.
func versionOf(definition *unstructured.Unstructured) (version map[string]any, index int) {
	versions, _, _ := unstructured.NestedFieldNoCopy(definition.Object, "spec", "versions")
	list, _ := versions.([]any)
	for i, item := range list {
		if version, _ := item.(map[string]any); version["name"] == cnatv1alpha1.SchemeGroupVersion.Version {
			return version, i
		}
	}
	return nil, 0
}

// defaultPath is the path of the default of spec.startingDeadlineSeconds in a version: with it, an
// environment says how late is too late.
var defaultPath = []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "startingDeadlineSeconds", "default"}

// defaultDeadline returns the default in the CustomResourceDefinition of Ats, in seconds; 0 where
// there is none.
func defaultDeadline(definition *unstructured.Unstructured) int64 {
	version, _ := versionOf(definition)
	seconds, _, _ := unstructured.NestedNumberAsFloat64(version, defaultPath...)
	return int64(seconds)
}

// deadlinePatch returns an operation of a JSON patch that sets the default in the
// CustomResourceDefinition of Ats.
func deadlinePatch(definition *unstructured.Unstructured, seconds int64) string {
	_, index := versionOf(definition)
	return fmt.Sprintf("{op: add, path: /spec/versions/%d/%s, value: %d}", index, strings.Join(defaultPath, "/"), seconds)
}
