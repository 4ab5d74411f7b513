package advice

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind/at"
	"example.com/gatehouse/render/object"
)

// lateRuns warns of Ats that a cluster which does not know that they ran, like a new one or
// one restored from a backup, would run again however late that is: of each whose time is
// past, and of the first of the others where the environment could say for all how late is
// too late.
func lateRuns(e Environment) (warnings []object.Problem) {
	definition := e.atDefinition()
	isSaid := definition == nil // what brings a definition that is not known says how late is too late
	for _, o := range e.Objects {
		if !isAt(o) || isHeldOrLimited(o) {
			continue
		}
		switch schedule, isPast := e.isPast(o); {
		case isPast:
			warnings = append(warnings, warning(o, "spec.schedule", schedule,
				"is past: a cluster that did not run it, like a new one, would run it at once: remove the At, or write spec.startingDeadlineSeconds"))
		case !isSaid:
			isSaid = true
			warnings = append(warnings, warning(o, "", nil,
				"may start however late: a new cluster, or one restored from a backup, would run it again: write how many seconds late is too late in spec.startingDeadlineSeconds or, for all Ats of the environment, patch CustomResourceDefinition %s: %s",
				at.Definition, at.DefaultDeadlinePatch(definition, exampleDeadline)))
		}
	}
	return warnings
}

// exampleDeadline is an hour: who is called at night has repaired a cluster by then, or
// wants to look before a command runs.
const exampleDeadline = 3600

// atDefinition is the CustomResourceDefinition of Ats; nil where it is not known.
func (e Environment) atDefinition() *unstructured.Unstructured {
	known := slices.Concat(e.Objects, e.Local)
	i := slices.IndexFunc(known, func(o object.Object) bool { return at.IsDefinition(o.Unstructured) })
	if i < 0 {
		return nil
	}
	return known[i].Unstructured
}

// isHeldOrLimited says whether an At is suspended, or has a starting deadline, of its own or
// the environment's.
func isHeldOrLimited(o object.Object) bool {
	isSuspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
	deadline, _, _ := unstructured.NestedFieldNoCopy(o.Object, at.StartingDeadline...)
	return isSuspended || deadline != nil
}

// isPast says whether the time of an At is past, where the time is to matter.
func (e Environment) isPast(o object.Object) (schedule string, isPast bool) {
	schedule, _, _ = unstructured.NestedString(o.Object, "spec", "schedule")
	due, err := at.Schedule(cnatv1alpha1.AtSpec{Schedule: schedule})
	return schedule, err == nil && !e.Now.IsZero() && !e.Now.Before(due)
}

// isAt says whether an object is an At.
func isAt(o object.Object) bool {
	gvk := o.GroupVersionKind()
	return gvk.Group == cnatv1alpha1.SchemeGroupVersion.Group && gvk.Kind == cnatv1alpha1.KindAt
}
