package check

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/render/kinds"
	"example.com/gatehouse/render/object"
)

// FuzzSchedule: what the CustomResourceDefinition takes for a time, Go reads.
func FuzzSchedule(f *testing.F) {
	for _, schedule := range []string{"2027-01-01T00:00:00Z", "2027-01-01T00:00:00.123+23:59", "2027-12-31T23:59:60Z", "2027-01-01t00:00:00z", "0000-02-29T24:00:00-24:00"} {
		f.Add(schedule)
	}
	kind := embeddedKinds()[cnatv1alpha1.SchemeGroupVersion.WithKind(cnatv1alpha1.KindAt)]
	f.Fuzz(func(t *testing.T, schedule string) {
		at := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "cnat.programming-kubernetes.info/v1alpha1", "kind": "At",
			"metadata": map[string]any{"name": "a"},
			"spec":     map[string]any{"schedule": schedule, "command": "date"},
		}}
		if _, errs := kind.check(object.Object{Unstructured: at}); len(errs) > 0 {
			return
		}
		if _, err := kinds.Schedule(cnatv1alpha1.AtSpec{Schedule: schedule}); err != nil {
			t.Errorf("valid, but: %v", err)
		}
	})
}
