package review

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
)

// family is an object of a kind that people write, and what is rendered from it.
type family struct {
	owner         manifest.ID
	before, after *unstructured.Unstructured // the owner; nil where there is none
	children      []kind.ChildChange
	counted       []diff.Change // of the children that no other effect is about
}

// families returns those of which something changes, in the order of their owners. Objects that
// have an effect of their own are not counted again.
func (w *world) families(hasEffect map[manifest.ID]bool) []*family {
	found := map[manifest.ID]*family{}
	for _, c := range w.Changes {
		o := c.Object().Unstructured
		owner, ok := diff.OwnerOf(w.Kinds, o)
		if !ok {
			continue
		}
		f := found[owner]
		if f == nil {
			f = &family{owner: owner, before: w.before.owners[owner], after: w.after.owners[owner]}
			found[owner] = f
		}
		if owner == idOf(o) {
			continue
		}
		f.children = append(f.children, w.childChange(c.Before, c.After))
		if !hasEffect[idOf(o)] || w.isCovered(o) {
			f.counted = append(f.counted, c)
		}
	}
	for _, o := range w.Unchanged {
		if owner, ok := diff.OwnerOf(w.Kinds, o); ok && owner != idOf(o) && found[owner] != nil {
			found[owner].children = append(found[owner].children, w.childChange(o, o))
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *family) int { return compareObjects(a.owner, b.owner) })
}

// childChange returns what is left of the change of a child where the API server refuses it.
func (w *world) childChange(before, after *unstructured.Unstructured) kind.ChildChange {
	if after != nil {
		if _, isRefused := w.refused[idOf(after)]; isRefused {
			after = before
		}
	}
	return kind.ChildChange{Before: before, After: after, Pods: w.rollout(before, after)}
}

// reviewFamily returns what the kind of the owner says of its change, or else what follows from
// the children.
func (w *world) reviewFamily(f *family, now time.Time) []kind.Effect {
	k := w.writtenKind(f.owner)
	if k == nil || f.before == nil && f.after == nil || f.after == nil && w.gone[f.owner.Namespace] {
		return nil
	}
	if !k.HasReview() {
		return reviewCounts(f)
	}
	return orUntold(w.Kinds.Review(k, f.before, f.after, f.children, now))
}

// orUntold returns effects, or that of a change whose kind cannot tell what it does.
func orUntold(effects []kind.Effect, err error) []kind.Effect {
	if err == nil {
		return effects
	}
	return []kind.Effect{{Type: ObjectChanged, What: "changes", Risk: kind.Say("nobody can tell what that does: %s", err.Error())}}
}

// writtenKind returns the kind of an object that people write; nil of any other object.
func (w *world) writtenKind(o manifest.ID) *kind.Kind {
	return w.Kinds.FindRendered(schema.GroupKind{Group: o.Group, Kind: o.Kind})
}

// reviewCounts returns the effect on an object whose kind has no Review.
func reviewCounts(f *family) []kind.Effect {
	switch {
	case f.before == nil:
		return []kind.Effect{{Type: ObjectAdded, What: "is added" + f.count(", with ", diff.Added)}}
	case f.after == nil:
		return []kind.Effect{{Type: ObjectRemoved, What: "is removed" + f.count(", with ", diff.Removed), Risk: f.riskOf("what runs of it is stopped")}}
	}
	said := []kind.Sentence{f.count("replaces ", diff.Replaced), f.count("removes ", diff.Removed), f.count("adds ", diff.Added), f.count("changes ", diff.Changed)}
	said = slices.DeleteFunc(said, func(s kind.Sentence) bool { return s == "" })
	if len(said) == 0 {
		return nil
	}
	return []kind.Effect{{Type: ObjectChanged, What: list(said), Risk: f.riskOf("what runs in them is stopped")}}
}

// count says after a verb how many objects an action is on: "adds 3 Pods, 1 Service"; nothing where
// it is on none.
func (f *family) count(verb kind.Sentence, action diff.Action) kind.Sentence {
	counts := map[string]int64{}
	for _, c := range f.counted {
		if c.Action() == action {
			counts[strings.Map(onlyLetters, c.Object().GetKind())]++
		}
	}
	if len(counts) == 0 {
		return ""
	}
	said := make([]kind.Sentence, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		said = append(said, kind.Count(counts[name], name))
	}
	return verb + list(said)
}

// onlyLetters leaves out of a kind what no API server has in one, and a comment may not have.
func onlyLetters(r rune) rune {
	if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
		return -1
	}
	return r
}

// riskOf returns what is lost where Pods are removed or replaced; nothing where none are.
func (f *family) riskOf(loss kind.Sentence) (risk kind.Sentence) {
	for _, c := range f.counted {
		o := c.Object()
		switch {
		case c.Action() != diff.Removed && c.Action() != diff.Replaced || !manifest.MakesPods(o.Unstructured) || o.GetKind() == "CronJob":
		case c.Action() == diff.Replaced && o.GetKind() == "Job":
			return "it runs again, and what still runs of it is stopped"
		default:
			risk = loss
		}
	}
	return risk
}
