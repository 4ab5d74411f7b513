package review

import (
	"sync"

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
	removed := removedObjects(both)
	visitAll := func(s *compare.Side, visit func(o manifest.Object, b broken, what, risk kind.Sentence)) {
		objects := s.Manifests()
		in := references.NewIndex(objects, both.NameReferences...)
		for _, o := range objects {
			visitBroken(in, o, removed, func(b broken, what, risk kind.Sentence) { visit(o, b, what, risk) })
		}
	}
	wasBroken := sync.OnceValue(func() map[broken]bool {
		known := map[broken]bool{}
		visitAll(both.Before(), func(_ manifest.Object, b broken, _, _ kind.Sentence) { known[b] = true })
		return known
	})
	visitAll(both.After(), func(o manifest.Object, b broken, what, risk kind.Sentence) {
		if !wasBroken()[b] {
			effects = append(effects, effect.Of(both.Reported(o.Unstructured),
				kind.Effect{Type: effect.ReferenceBroken, What: what, Risk: risk})...)
		}
	})
	return effects
}

// visitBroken visits the references of an object that lead nowhere, and says what they need and lack: a named port, a
// part of an object, or a removed object.
func visitBroken(in *references.Index, o manifest.Object, removed map[manifest.ID]bool,
	visit func(b broken, what, risk kind.Sentence)) {
	for _, s := range references.SelectorsOf(o) {
		for _, m := range s.MissingPorts(in.Selected(s)) {
			b := broken{o.ID(), manifest.JoinField(m.Path), m.Name}
			visit(b, kind.Say("needs port %s in %s", m.Name, b.field), kind.Say("%s", m.String()))
		}
	}
	for _, r := range in.Of(o) {
		to := r.To.String()
		for _, n := range in.Lacks(r) {
			risk := kind.Say("%s has no %s %s", to, kind.Sentence(n.Part), n.Name)
			if n.Part == references.Key && manifest.MakesPods(o.Unstructured) {
				risk += ": no new Pod starts"
			}
			visit(broken{o.ID(), manifest.JoinField(n.Path), n.Name},
				kind.Say("needs %s %s of %s", kind.Sentence(n.Part), n.Name, to), risk)
		}
		if removed[r.To] && !in.Has(r.To) {
			b := broken{o.ID(), manifest.JoinField(r.Path), r.To.Name}
			visit(b, kind.Say("names %s in %s", to, b.field), kind.Say("%s is removed", to))
		}
	}
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
