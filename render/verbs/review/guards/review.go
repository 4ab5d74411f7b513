package guards

import (
	"cmp"
	"slices"
	"strings"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
)

// Review reviews the fields of an object that decide about other objects.
func Review(w *world.World, c diff.Change) (effects []kind.Effect) {
	o := c.Object().Unstructured
	all := guardsOf(world.KindOf(o))
	if w.IsParameter(o) {
		all = []guard{{risk: "admission policies take their parameters from it: " + admits}}
	}
	for _, g := range all {
		effects = append(effects, g.review(w.FieldsOf(c), c)...)
	}
	return append(effects, reviewSettings(c)...)
}

// guardsOf returns the guards of a kind, or of the longest end of its group.
func guardsOf(kind string) []guard {
	if all, ok := guards[kind]; ok {
		return all
	}
	for _, group, ok := strings.Cut(kind, "."); ok; _, group, ok = strings.Cut(group, ".") {
		if all := guards["."+group]; all != nil {
			return all
		}
	}
	return nil
}

func (g guard) review(fields []diff.FieldChange, c diff.Change) []kind.Effect {
	if len(g.fields) == 0 && c.After == nil {
		return effect.Removed(effect.GuardRemoved, cmp.Or(g.lost, g.risk))
	}
	fields = slices.DeleteFunc(slices.Clone(fields), func(f diff.FieldChange) bool { return !g.decides(f) })
	switch {
	case len(fields) == 0, c.After == nil, c.Before == nil && g.limits:
		return nil
	case c.Before == nil:
		return []kind.Effect{{Type: effect.GuardAdded, What: "is added with " + effect.SayFields(fields, effect.MostAdded, effect.SayValue), Risk: g.risk, Fields: effect.PathsOf(fields)}}
	}
	return []kind.Effect{{Type: effect.GuardChanged, What: "changes " + effect.SayFields(fields, effect.MostChanged, effect.SayChange), Risk: g.risk, Fields: effect.PathsOf(fields)}}
}

// decides reports whether the changed field is among the fields of the guard.
func (g guard) decides(f diff.FieldChange) bool {
	isIn := func(path string) bool { return f.IsIn(path) || diff.FieldChange{Path: path}.IsIn(f.Path) }
	if len(g.fields) == 0 {
		return !slices.ContainsFunc([]string{"apiVersion", "kind", "metadata", "status"}, f.IsIn)
	}
	return slices.ContainsFunc(g.fields, isIn) && (g.value == "" || f.After != nil && *f.After == g.value)
}
