package pods

import (
	"maps"
	"slices"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/review/effect"
)

// ReviewConfig reviews ConfigMaps and Secrets that Pods use. A changed content is a risk: mounted, it
// reaches all running Pods at once, and no rollout stops at the first failure; in the environment, old and
// new content run side by side. A new object is a risk if Pods referred to it before.
func ReviewConfig(both *compare.Comparison, c compare.Change) (effects []kind.Effect) {
	if c.Action() == compare.Replaced {
		for _, gone := range ReviewConfig(both, compare.Change{Before: c.Before}) { // Pods still use it
			gone.What = kind.Say("replaces %s, which ", c.Before.GetName()) + gone.What
			effects = append(effects, gone)
		}
	}
	before, after := both.Uses()
	was := before[c.Object().IDInNamespace()]
	is := after[c.Object().IDInNamespace()]
	if len(is) == 0 || !slices.ContainsFunc(c.Fields(), func(f compare.FieldChange) bool {
		return !f.IsIn("metadata")
	}) {
		return effects
	}
	var users []string
	isNeeded := false
	isLive := false
	for _, user := range slices.SortedFunc(maps.Keys(is), effect.CompareObjects) {
		_, isOld := was[user]
		users = append(users, user.String())
		isNeeded = isNeeded || is[user]
		isLive = isLive || isOld
	}
	e := kind.Effect{Type: effect.ConfigChanged, What: "changes"}
	if isLive {
		e.Risk = "no rollout stops at the first failure: running Pods get mounted content at once, and other " +
			"content when they restart"
	}
	switch {
	case c.After == nil:
		e = kind.Effect{Type: effect.ConfigRemoved, What: "is removed"}
		if isNeeded {
			e.Risk = "Pods do not start without it"
		}
	case c.Before == nil:
		e.What = "is added"
	}
	e.What += ": it is used by the Pods of " + effect.Quote(users)
	return append(effects, e)
}
