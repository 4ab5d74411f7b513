package review

import (
	"iter"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/references"
	"example.com/gatehouse/render/review/effect"
)

// broken is a reference of an object that leads nowhere, without the name of its target, which may end in a hash.
type broken struct {
	from        manifest.ID
	field, part string
}

// reviewReferences returns the effects of references that a change breaks: their object is removed, or lacks a part
// that it had.
func reviewReferences(both *compare.Comparison) (effects []effect.Effect) {
	if len(both.Changes) == 0 {
		return nil
	}
	before, after := objectsOf(both.Before()), objectsOf(both.After())
	configured := both.NameReferences
	wasIn, isIn := references.NewIndex(before, configured...), references.NewIndex(after, configured...)
	wasBroken := map[broken]bool{}
	for _, o := range before {
		for _, r := range wasIn.Of(o) {
			for _, n := range wasIn.Lacks(r) {
				wasBroken[broken{o.ID(), manifest.JoinField(n.Path), n.Name}] = true
			}
		}
		for b := range missingPorts(wasIn, o) {
			wasBroken[b] = true
		}
	}
	removed := removedObjects(both)
	for _, o := range after {
		told := both.Reported(o.Unstructured)
		for b, m := range missingPorts(isIn, o) {
			if !wasBroken[b] {
				effects = append(effects, effect.Of(told, kind.Effect{Type: effect.ReferenceBroken,
					What: kind.Say("needs port %s in %s", m.Name, b.field), Risk: kind.Say("%s", m.String())})...)
			}
		}
		for _, r := range isIn.Of(o) {
			for _, n := range isIn.Lacks(r) {
				if b := (broken{o.ID(), manifest.JoinField(n.Path), n.Name}); !wasBroken[b] {
					effects = append(effects, effect.Of(told, sayLacks(o, r, n))...)
				}
			}
			if removed[r.To] && !isIn.Has(r.To) {
				effects = append(effects, effect.Of(told, kind.Effect{Type: effect.ReferenceBroken,
					What: kind.Say("names %s in %s", r.To.String(), manifest.JoinField(r.Path)),
					Risk: kind.Say("%s is removed", r.To.String())})...)
			}
		}
	}
	return effects
}

// missingPorts yields the named ports that nothing of what an object selects has.
func missingPorts(in *references.Index, o manifest.Object) iter.Seq2[broken, references.MissingPort] {
	return func(yield func(broken, references.MissingPort) bool) {
		for _, s := range references.SelectorsOf(o) {
			for _, m := range s.MissingPorts(in.Selected(s)) {
				if !yield(broken{o.ID(), manifest.JoinField(m.Path), m.Name}, m) {
					return
				}
			}
		}
	}
}

// sayLacks returns the effect of a part that the object of a reference lacks.
func sayLacks(o manifest.Object, r references.Reference, n references.Needed) kind.Effect {
	risk := kind.Say("%s has no %s %s", r.To.String(), kind.Sentence(n.Part), n.Name)
	if n.Part == references.Key && manifest.MakesPods(o.Unstructured) {
		risk += ": no new Pod starts"
	}
	return kind.Effect{Type: effect.ReferenceBroken,
		What: kind.Say("needs %s %s of %s", kind.Sentence(n.Part), n.Name, r.To.String()), Risk: risk}
}

// removedObjects returns the objects that a change removes from the cluster, except those that Pods use: the effect
// on these names the Pods.
func removedObjects(both *compare.Comparison) map[manifest.ID]bool {
	removed := map[manifest.ID]bool{}
	for _, c := range both.Changes {
		isConfig := c.Object().GetKind() == "ConfigMap" || c.Object().GetKind() == "Secret"
		if c.Action() == compare.Removed && !isConfig && compare.KeptBy(c) == nil &&
			!both.IsGone(c.Before.GetNamespace()) {
			removed[compare.IDOf(c.Before)] = true
		}
	}
	return removed
}

// objectsOf returns the objects of a side.
func objectsOf(s *compare.Side) (objects []manifest.Object) {
	for _, o := range s.Objects {
		objects = append(objects, manifest.Object{Unstructured: o, Written: o})
	}
	return objects
}
