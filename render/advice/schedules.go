package advice

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/render/kinds"
	"example.com/gatehouse/render/object"
)

// pastSchedules warns of Ats that would run at once on a cluster that does not know that
// they ran.
func pastSchedules(e Environment) (warnings []object.Problem) {
	if e.Now.IsZero() {
		return nil
	}
	for _, o := range e.Objects {
		if !isAt(o) {
			continue
		}
		schedule, _, _ := unstructured.NestedString(o.Object, "spec", "schedule")
		suspend, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
		deadline, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "startingDeadlineSeconds")
		due, err := kinds.Schedule(cnatv1alpha1.AtSpec{Schedule: schedule})
		if err != nil || suspend || deadline != nil || e.Now.Before(due) {
			continue
		}
		warnings = append(warnings, warning(o, "spec.schedule", schedule,
			"is past: a cluster that did not run it, like a new one, would run it at once: remove the At, or write spec.startingDeadlineSeconds"))
	}
	return warnings
}

// isAt says whether an object is an At.
func isAt(o object.Object) bool {
	gvk := o.GroupVersionKind()
	return gvk.Group == cnatv1alpha1.SchemeGroupVersion.Group && gvk.Kind == cnatv1alpha1.KindAt
}
