package review

import (
	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
)

// reviewAutoscaler returns the rule of what decides how many Pods a workload has.
func reviewAutoscaler(_ *world, c diff.Change) []kind.Effect {
	a, ok := manifest.ReadAutoscaler(c.Object().Unstructured)
	if !ok {
		return nil
	}
	e := kind.Effect{Type: AutoscalingChanged}
	target := a.Target.String()
	switch {
	case c.Before == nil:
		e.What = kind.Say("scales %s from %s", target, between(a))
		return []kind.Effect{e}
	case c.After == nil:
		e.What, e.Risk = kind.Say("is removed: nothing scales %s any more", target), "it stays at as many Pods as it has, or is told to have"
		return []kind.Effect{e}
	}
	before, _ := manifest.ReadAutoscaler(c.Before)
	switch {
	case before == a:
		return nil
	case before.Target != a.Target:
		e.What = kind.Say("scales %s from %s instead of %s", target, between(a), before.Target.String())
	default:
		e.What = kind.Say("scales %s from %s instead of %s", target, between(a), between(before))
	}
	if a.Max < before.Max {
		e.Risk = "under load it has fewer Pods than before"
	}
	return []kind.Effect{e}
}

// between says how many Pods there may be.
func between(a manifest.Autoscaler) kind.Sentence {
	return kind.Say("%d to %s", a.Min, kind.Count(a.Max, "Pod"))
}
