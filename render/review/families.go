package review

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/render/review/pods"
)

// reviewBuilds returns the effect of a new build of a kind, for the first family whose rendered objects
// change without a change of the spec. The controller compares live objects with the rendering of its own
// build.
func reviewBuilds(both *compare.Comparison, families []*family) map[*family][]kind.Effect {
	first := map[*kind.Kind]*family{}
	count := map[*kind.Kind]int64{}
	for _, f := range families {
		if f.before == nil || f.after == nil {
			continue
		}
		was := registry.RenderingOf(f.before)
		is := registry.RenderingOf(f.after)
		if was.Spec != is.Spec || was.Objects == is.Objects || was.Objects == "" {
			continue
		}
		k := both.SourceKind(f.owner)
		if count[k]++; first[k] == nil {
			first[k] = f
		}
	}
	effects := map[*family][]kind.Effect{}
	for k, f := range first {
		effects[f] = []kind.Effect{{
			Type: effect.BuildChanged, What: kind.Say("is rendered by another build of its kind: this changes %s",
				kind.Count(count[k], k.GVK().Kind)),
			Risk: "a controller of the previous build reports ControllerDiffers: roll out the controller of the " +
				"same build",
		}}
	}
	return effects
}

// family is a source object and its rendered objects.
type family struct {
	owner         manifest.ID
	before, after *unstructured.Unstructured // the owner, or nil
	children      []kind.ChildChange
}

// families returns the families with changes, in the order of their owners.
func families(both *compare.Comparison) []*family {
	found := map[manifest.ID]*family{}
	for _, c := range both.Changes {
		o := c.Object().Unstructured
		owner, ok := compare.OwnerOf(both.Kinds, o)
		if !ok {
			continue
		}
		f := found[owner]
		if f == nil {
			f = &family{owner: owner, before: both.Before().Owners[owner], after: both.After().Owners[owner]}
			found[owner] = f
		}
		if owner != compare.IDOf(o) {
			f.children = append(f.children, childChange(both, c.Before, c.After))
		}
	}
	for _, o := range both.Unchanged {
		if owner, ok := compare.OwnerOf(both.Kinds, o); ok && owner != compare.IDOf(o) && found[owner] != nil {
			found[owner].children = append(found[owner].children, childChange(both, o, o))
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *family) int {
		return effect.CompareObjects(a.owner, b.owner)
	})
}

// childChange returns the change of a child, or no change if the API server refuses it.
func childChange(both *compare.Comparison, before, after *unstructured.Unstructured) kind.ChildChange {
	if after != nil && len(both.Refused(after)) > 0 {
		after = before
	}
	return kind.ChildChange{Before: before, After: after, Pods: pods.RolloutOf(both, before, after)}
}

// reviewFamily returns the review of the owner's kind, if it has any.
func reviewFamily(both *compare.Comparison, f *family, now time.Time) []kind.Effect {
	k := both.SourceKind(f.owner)
	isGone := f.after == nil && (f.before == nil || both.IsGone(f.owner.Namespace))
	if k == nil || k.Review == nil || isGone {
		return nil
	}
	return orUnknown(both.Kinds.Review(k, f.before, f.after, f.children, now))
}

// orUnknown returns effects, or the effect of a failed review.
func orUnknown(effects []kind.Effect, err error) []kind.Effect {
	if err == nil {
		return effects
	}
	return []kind.Effect{{Type: effect.ObjectChanged, What: "changes",
		Risk: kind.Say("the effect is unknown: %s", err.Error())}}
}
