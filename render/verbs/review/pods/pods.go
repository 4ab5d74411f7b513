// Package pods answers: which programs start, stop or restart, with which privileges, protections and
// configuration? TestEffectsOfChanges of package review proves the workloads, TestReviewTellsAllContainers the
// programs, TestWeakerPodsAreReported the protections.
package pods

import (
	"slices"

	"k8s.io/utils/ptr"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
	"example.com/gatehouse/render/verdict/podsecurity"
)

// Review returns the effects of changed Pod templates, and the object to report them for: the source
// object of an immutable object such as a Pod, and otherwise the object itself.
func Review(w *world.World, c diff.Change) (told manifest.ID, effects []kind.Effect) {
	o, is := c.Object().Unstructured, w.TemplatesWithTokens(w.After, c.After)
	if len(is) == 0 {
		return told, nil
	}
	was := map[string]podsecurity.Template{}
	for _, t := range w.TemplatesWithTokens(w.Before, c.Before) {
		was[t.Field] = t
	}
	for _, t := range is {
		if len(t.Misfits) > 0 {
			effects = append(effects, kind.Effect{Type: effect.PodUnreadable, What: kind.Say("its Pod template cannot be read because of %s", effect.Quote(t.Misfits)), Risk: "this review may miss risks: check every field"})
		}
		if c.Before != nil {
			effects = slices.Concat(effects, reviewPrograms(was[t.Field], t), weaker(renamed(ptr.To(was[t.Field].Spec), &t.Spec), &t.Spec))
		}
	}
	effects = append(effects, reviewPrivileges(w, c)...)
	if w.IsCovered(o) {
		effects = slices.DeleteFunc(effects, func(e kind.Effect) bool { return e.Risk == "" })
	}
	if owner, ok := diff.OwnerOf(w.Kinds, o); ok && w.After.Owners[owner] != nil && w.Kinds.IsImmutable(o) {
		for i := range effects {
			effects[i].Fields = nil // the source object has other fields
		}
		return owner, effects
	}
	return world.IDOf(o), effects
}
