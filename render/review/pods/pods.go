// Package pods answers: which programs start, stop or restart, and how are they protected and configured?
// TestEffectsOfChanges of package review proves the workloads, TestReviewTellsAllContainers the programs,
// TestWeakerPodsAreReported the protections.
package pods

import (
	"cmp"
	"slices"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/render/verdict/podsecurity"
)

// Review returns the effects of changed Pod templates.
func Review(both *compare.Comparison, c compare.Change) []effect.Effect {
	o := c.Object().Unstructured
	if compare.LeftBy(c) != nil && !both.IsCovered(o) {
		return nil // its Pods stay as they are
	}
	var effects []kind.Effect
	for _, t := range both.PodChanges(c) {
		if len(t.Is.Misfits) > 0 {
			what := kind.Say("its Pod template cannot be read because of %s", effect.Quote(t.Is.Misfits))
			effects = append(effects, kind.Effect{Type: effect.PodUnreadable, What: what,
				Risk: "this review may miss risks: check every field"})
		}
		effects = append(effects, reviewImages(both, t.Is)...)
		if c.Before != nil {
			was := cmp.Or(t.Was, &podsecurity.Template{})
			effects = slices.Concat(effects, reviewPrograms(was, t.Is), weaker(&was.Spec, &t.Is.Spec))
		}
	}
	if both.IsCovered(o) {
		effects = slices.DeleteFunc(effects, func(e kind.Effect) bool { return e.Risk == "" })
	}
	told := both.Reported(o)
	if told != compare.IDOf(o) {
		for i := range effects {
			effects[i].Fields = nil // the source object has other fields
		}
	}
	return effect.Of(told, effects...)
}
