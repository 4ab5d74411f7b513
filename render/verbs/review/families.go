package review

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/pods"
	"example.com/gatehouse/render/verbs/review/world"
)

// reviewBuilds returns the effect of a new build of a kind, for the first family whose rendered objects
// change without a change of the spec. The controller compares live objects with the rendering of its own
// build.
func reviewBuilds(w *world.World, families []*family) map[*family][]kind.Effect {
	first, count := map[*kind.Kind]*family{}, map[*kind.Kind]int64{}
	for _, f := range families {
		if f.before == nil || f.after == nil {
			continue
		}
		was, is := registry.RenderingOf(f.before), registry.RenderingOf(f.after)
		if was.Spec != is.Spec || was.Objects == is.Objects || was.Objects == "" {
			continue
		}
		k := w.SourceKind(f.owner)
		if count[k]++; first[k] == nil {
			first[k] = f
		}
	}
	effects := map[*family][]kind.Effect{}
	for k, f := range first {
		effects[f] = []kind.Effect{{
			Type: effect.BuildChanged, What: kind.Say("is rendered by another build of its kind: this changes %s", kind.Count(count[k], k.GVK().Kind)),
			Risk: "a controller of the previous build reports ControllerDiffers: roll out the controller of the same build",
		}}
	}
	return effects
}

// family is a source object and its rendered objects.
type family struct {
	owner         manifest.ID
	before, after *unstructured.Unstructured // the owner, or nil
	children      []kind.ChildChange
	counted       []diff.Change // changes of children without another effect
}

// families returns the families with changes, in the order of their owners. Their counts leave out objects
// with another effect.
func families(w *world.World, hasEffect map[manifest.ID]bool) []*family {
	found := map[manifest.ID]*family{}
	for _, c := range w.Changes {
		o := c.Object().Unstructured
		owner, ok := diff.OwnerOf(w.Kinds, o)
		if !ok {
			continue
		}
		f := found[owner]
		if f == nil {
			f = &family{owner: owner, before: w.Before.Owners[owner], after: w.After.Owners[owner]}
			found[owner] = f
		}
		if owner == world.IDOf(o) {
			continue
		}
		f.children = append(f.children, childChange(w, c.Before, c.After))
		if !hasEffect[world.IDOf(o)] || w.IsCovered(o) {
			f.counted = append(f.counted, c)
		}
	}
	for _, o := range w.Unchanged {
		if owner, ok := diff.OwnerOf(w.Kinds, o); ok && owner != world.IDOf(o) && found[owner] != nil {
			found[owner].children = append(found[owner].children, childChange(w, o, o))
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *family) int { return effect.CompareObjects(a.owner, b.owner) })
}

// childChange returns the change of a child, or no change if the API server refuses it.
func childChange(w *world.World, before, after *unstructured.Unstructured) kind.ChildChange {
	if after != nil {
		if _, isRefused := w.Refused[world.IDOf(after)]; isRefused {
			after = before
		}
	}
	return kind.ChildChange{Before: before, After: after, Pods: pods.RolloutOf(w, before, after).Rollout}
}

// reviewFamily returns the review of the owner's kind or, if it has none, counts of changed children.
func reviewFamily(w *world.World, f *family, now time.Time) []kind.Effect {
	k := w.SourceKind(f.owner)
	if k == nil || f.before == nil && f.after == nil || f.after == nil && w.Gone[f.owner.Namespace] {
		return nil
	}
	if !k.HasReview() {
		return reviewCounts(f)
	}
	return orUnknown(w.Kinds.Review(k, f.before, f.after, f.children, now))
}

// orUnknown returns effects, or the effect of a failed review.
func orUnknown(effects []kind.Effect, err error) []kind.Effect {
	if err == nil {
		return effects
	}
	return []kind.Effect{{Type: effect.ObjectChanged, What: "changes", Risk: kind.Say("the effect is unknown: %s", err.Error())}}
}

// reviewCounts returns the effect on a source object whose kind has no review.
func reviewCounts(f *family) []kind.Effect {
	switch {
	case f.before == nil:
		return []kind.Effect{{Type: effect.ObjectAdded, What: "is added" + f.count(", with ", diff.Added)}}
	case f.after == nil:
		return []kind.Effect{{Type: effect.ObjectRemoved, What: "is removed" + f.count(", with ", diff.Removed), Risk: f.riskOf("its running Pods are stopped")}}
	}
	said := []kind.Sentence{f.count("replaces ", diff.Replaced), f.count("removes ", diff.Removed), f.count("adds ", diff.Added), f.count("changes ", diff.Changed)}
	said = slices.DeleteFunc(said, func(s kind.Sentence) bool { return s == "" })
	if len(said) == 0 {
		return nil
	}
	return []kind.Effect{{Type: effect.ObjectChanged, What: effect.List(said), Risk: f.riskOf("their running Pods are stopped")}}
}

// count counts the objects of an action, after a verb: "adds 3 Pods, 1 Service". It returns nothing for no
// objects.
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
	return verb + effect.List(said)
}

// onlyLetters drops characters that are not valid in the name of a kind, and could break a comment.
func onlyLetters(r rune) rune {
	if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
		return -1
	}
	return r
}

// riskOf returns the loss if Pods are removed or replaced.
func (f *family) riskOf(loss kind.Sentence) (risk kind.Sentence) {
	for _, c := range f.counted {
		o := c.Object()
		switch {
		case c.Action() != diff.Removed && c.Action() != diff.Replaced || !manifest.MakesPods(o.Unstructured) || o.GetKind() == "CronJob":
		case c.Action() == diff.Replaced && o.GetKind() == "Job":
			return "it runs again, and its running Pods are stopped"
		default:
			risk = loss
		}
	}
	return risk
}
