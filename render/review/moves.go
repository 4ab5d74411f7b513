package review

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/effect"
)

// move is an environment that has the objects of another one.
type move struct {
	from   string
	isGone bool // the other one
	both   *compare.Comparison
}

// reviewed returns the environments to review, and the moved ones by their names: most objects of another environment,
// which is gone, are new there; or an environment is new, and made of another one with the same objects.
func reviewed(all []*compare.Comparison) (rest []*compare.Comparison, moves map[string]move) {
	moves = map[string]move{}
	isMoved := sets.Set[string]{}
	for _, e := range all {
		added := idsOf(e, compare.Added)
		if len(added) == 0 {
			continue
		}
		i := slices.IndexFunc(all, func(other *compare.Comparison) bool {
			removed := idsOf(other, compare.Removed)
			return !isMoved.Has(other.Name) && isWhole(other, compare.Removed) &&
				2*len(removed.Intersection(added)) > len(removed)
		})
		if i >= 0 {
			moves[e.Name] = move{all[i].Name, true, moved(e, e.Before().Objects, all[i].Before().Objects, all[i])}
			isMoved.Insert(all[i].Name)
			continue
		}
		for _, other := range all {
			if other == e || !isWhole(e, compare.Added) || !added.Equal(idsAfter(other)) || !isMadeOf(e, other) {
				continue
			}
			if both := moved(e, nil, other.After().Objects, other); len(both.Changes) == 0 {
				moves[e.Name] = move{other.Name, false, both}
				break
			}
		}
	}
	for _, e := range all {
		if !isMoved.Has(e.Name) && (e.Differs() || len(e.Unread) > 0) {
			rest = append(rest, e)
		}
	}
	return rest, moves
}

func idsOf(e *compare.Comparison, action compare.Action) sets.Set[manifest.ID] {
	ids := sets.Set[manifest.ID]{}
	for _, c := range e.Changes {
		if c.Action() == action {
			ids.Insert(c.Object().ID())
		}
	}
	return ids
}

// isMadeOf reports whether an environment consumes files of another one, as of a cluster that moves in. A copy is
// another cluster, whose objects are all new.
func isMadeOf(e, other *compare.Comparison) bool {
	folder := other.Name
	if !strings.Contains(folder, "/") {
		folder = "environments/" + folder
	}
	return e.Environment != nil && e.Environment.IsThere() &&
		slices.ContainsFunc(e.Environment.Consumed(), func(file string) bool {
			return strings.HasPrefix(strings.TrimPrefix(file, "/"), folder+"/")
		})
}

func idsAfter(e *compare.Comparison) sets.Set[manifest.ID] {
	ids := sets.Set[manifest.ID]{}
	for _, o := range e.After().Objects {
		ids.Insert(compare.IDOf(o))
	}
	return ids
}

// isWhole reports whether all objects of an environment have an action, and there are any.
func isWhole(e *compare.Comparison, action compare.Action) bool {
	return len(e.Changes) > 0 && len(e.Unchanged)+len(e.Definitions) == 0 && len(idsOf(e, action)) == len(e.Changes)
}

// moved compares an environment with its objects before, and with another one's. An object that delivers known
// objects is equal wherever its folder is.
func moved(e *compare.Comparison, before, others []*unstructured.Unstructured,
	from *compare.Comparison) *compare.Comparison {
	isThere := sets.Set[manifest.ID]{}
	var was, is compare.Input
	add := func(to *compare.Input, of *compare.Comparison, objects []*unstructured.Unstructured) {
		for _, o := range objects {
			if of.Knows(compare.IDOf(o)) && e.Knows(compare.IDOf(o)) {
				o = folder.WithoutFolder(o)
			}
			to.Objects = append(to.Objects, manifest.Object{Unstructured: o})
		}
	}
	for _, o := range before {
		isThere.Insert(compare.IDOf(o))
	}
	add(&was, e, before)
	for _, o := range others {
		if !isThere.Has(compare.IDOf(o)) {
			add(&was, from, []*unstructured.Unstructured{o})
		}
	}
	add(&is, e, e.After().Objects)
	return compare.Differ(e.Kinds, was, is).With(e.Facts)
}

// review reviews the environment: one effect names it as it was, and the others are about the differing objects.
func (m move) review(now time.Time) EnvironmentReview {
	found := reviewEnvironment(m.both, now)
	said := kind.Effect{Type: effect.EnvironmentMoved, What: kind.Say("was %s; %s", m.from, differ(m.both))}
	if m.isGone {
		said.Risk = kind.Say("what syncs %s finds nothing there any more", m.from)
	} else {
		said.What = kind.Say("has the objects of %s; %s", m.from, differ(m.both))
		said.IsUnknown = true
		found.IsNew = true
	}
	first := effect.Of(manifest.ID{Kind: "Environment", Name: m.both.Name}, said)[0].Judged()
	found.Effects = append([]effect.Effect{first}, found.Effects...)
	return found
}

func differ(both *compare.Comparison) kind.Sentence {
	if len(both.Changes) == 1 {
		return "1 object differs"
	}
	return kind.Count(int64(len(both.Changes)), "object") + " differ"
}

// reviewLost returns the effect of an environment that is not found any more: nothing else tells its later changes.
func reviewLost(e *compare.Comparison) []effect.Effect {
	if !e.IsLost {
		return nil
	}
	return effect.Of(manifest.ID{Kind: "Environment", Name: e.Name}, kind.Effect{Type: effect.EnvironmentLost,
		What: "is no environment any more, although its files stay",
		Risk: "its cluster may get later changes that no check and no review sees"})
}
