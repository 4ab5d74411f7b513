package at

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/crd"
)

// warnings warns of Ats without a starting deadline. A new cluster, or one restored from a backup, does
// not know of their runs and would run them again. Each At with a past schedule gets a warning, and
// one with a deadline only while it is new. Of the others only the first gets one, as a default in the
// CustomResourceDefinition helps them all.
func warnings(v kind.View[cnatv1alpha1.At]) (warnings []kind.Warning) {
	isNamed := v.CRD == nil // the definition of the cluster may have a default
	for _, o := range v.Objects {
		at := o.Object
		if at.Spec.Suspend {
			continue
		}
		due, err := Schedule(at.Spec)
		isPast := err == nil && !v.Now.IsZero() && !v.Now.Before(due)
		deadline := at.Spec.StartingDeadlineSeconds
		switch {
		case isPast && deadline != nil:
			message := "is past: the command runs at once"
			if late := time.Duration(*deadline) * time.Second; v.Now.After(due.Add(late)) {
				message = "is past by more than spec.startingDeadlineSeconds: the command does not run: correct the " +
					"time, or remove the At"
			}
			warnings = append(warnings, kind.Warning{Object: at, Field: "spec.schedule", Message: message, IfNew: true})
		case deadline != nil:
		case isPast:
			warnings = append(warnings, kind.Warning{
				Object: at, Field: "spec.schedule",
				Message: "is past: a cluster that did not run it, like a new one, would run it at once: remove the " +
					"At, or write spec.startingDeadlineSeconds",
			})
		case !isNamed:
			isNamed = true
			warnings = append(warnings, kind.Warning{
				Object: at,
				Message: fmt.Sprintf("may start however late: a new cluster, or one restored from a backup, would "+
					"run it again: write how many seconds late is too late in spec.startingDeadlineSeconds or, for "+
					"all Ats of the environment, patch CustomResourceDefinition %s: %s", v.CRD.GetName(),
					deadlinePatch(v.CRD, exampleDeadline)),
			})
		}
	}
	return warnings
}

// exampleDeadline is an hour: long enough to repair a cluster at night. After that, a person wants to
// look before a command runs.
const exampleDeadline = 3600

// initPatches give each At of an environment a starting deadline.
var initPatches = map[string]string{
	"deadline.yaml": `# The deadline of Ats: an At that has not started an hour after its time never starts. So a
# cluster without a record of earlier runs, because it is new or restored from a backup,
# repeats none of them. An At keeps a startingDeadlineSeconds of its own.
- op: add
  path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/startingDeadlineSeconds/default
  value: 3600
`,
}

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
