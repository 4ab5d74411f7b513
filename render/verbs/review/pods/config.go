package pods

import (
	"maps"
	"slices"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
)

// ReviewConfig reviews ConfigMaps and Secrets that Pods use. A changed content is a risk: mounted, it
// reaches all running Pods at once, and no rollout stops at the first failure; in the environment, old and
// new content run side by side. A new object is a risk if Pods referred to it before.
func ReviewConfig(w *world.World, c diff.Change) []kind.Effect {
	before, after := w.Uses()
	was, is := before[c.Object().IDInNamespace()], after[c.Object().IDInNamespace()]
	if len(is) == 0 || !slices.ContainsFunc(w.FieldsOf(c), func(f diff.FieldChange) bool { return !f.IsIn("metadata") }) {
		return nil
	}
	users := map[kind.Sentence][]string{} // by way
	isNeeded, isLive := false, false
	for _, u := range slices.SortedFunc(maps.Keys(is), func(a, b world.Use) int { return effect.CompareObjects(a.User, b.User) }) {
		users[u.Way] = append(users[u.Way], u.User.String())
		_, isOld := was[u]
		isNeeded, isLive = isNeeded || is[u], isLive || isOld && u.Way != world.ForImages
	}
	var said []kind.Sentence
	for _, way := range world.AllUses {
		if len(users[way]) > 0 {
			said = append(said, "Pods of "+effect.Quote(users[way])+" "+way)
		}
	}
	e := kind.Effect{Type: effect.ConfigChanged, What: "changes", Risk: "Pods of different content run side by side until all have restarted"}
	switch {
	case c.After == nil:
		e.Type, e.What, e.Risk = effect.ConfigRemoved, "is removed", "Pods do not start without it"
	case c.Before == nil:
		e.What = "is added"
	}
	switch {
	case c.After == nil && !isNeeded, c.After != nil && !isLive:
		e.Risk = ""
	case c.After != nil && len(users[world.Mounted]) > 0:
		e.Risk = "running Pods get it without a rollout that stops at the first failure"
	}
	e.What += ": " + effect.Join(said, "; ")
	return []kind.Effect{e}
}
