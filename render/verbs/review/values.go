package review

import (
	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
)

// reviewValues returns the effect of variables whose values only the cluster has.
func reviewValues(w *world.World, c diff.Change) []effect.Effect {
	if c.After == nil || w.PostBuild == nil || w.PostBuild.Values != nil {
		return nil
	}
	names := w.PostBuild.Variables(c.Object())
	if len(names) == 0 {
		return nil
	}
	what := kind.Say("has %s of %s, which Flux puts in place", kind.Count(int64(len(names)), "variable"), effect.Quote(names))
	return []effect.Effect{{Object: world.IDOf(c.After), Effect: kind.Effect{Type: effect.ValuesUnknown, What: what, Risk: "their values come from the cluster: no review shows what runs"}}}
}
