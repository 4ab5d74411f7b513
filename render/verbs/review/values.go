package review

import (
	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/diff"
)

// reviewValues returns the effect of variables whose values only the cluster has.
func (w *world) reviewValues(c diff.Change) []Effect {
	if c.After == nil || w.PostBuild == nil || w.PostBuild.Values != nil {
		return nil
	}
	names := w.PostBuild.Variables(c.Object())
	if len(names) == 0 {
		return nil
	}
	what := kind.Say("has %s of %s, which Flux puts in place", kind.Count(int64(len(names)), "variable"), quoteAll(names))
	return []Effect{{idOf(c.After), kind.Effect{Type: ValuesUnknown, What: what, Risk: "their values come from the cluster: no review shows what runs"}}}
}
