package review

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/effect"
)

// reviewed returns the environments to review, and the previous names of moved ones by their names: of one all objects
// are removed, and another has all of them.
func reviewed(all []*compare.Comparison) (rest []*compare.Comparison, moves map[string]string) {
	gone := map[string]string{}
	moves = map[string]string{}
	for _, e := range all {
		gone[contentOf(e, compare.Removed)] = e.Name
	}
	delete(gone, "")
	for _, e := range all {
		content := contentOf(e, compare.Added)
		if from, ok := gone[content]; ok {
			moves[e.Name] = from
			delete(gone, content)
		}
	}
	isMoved := sets.New(slices.Collect(maps.Values(moves))...)
	rest = slices.DeleteFunc(slices.Clone(all), func(e *compare.Comparison) bool {
		return isMoved.Has(e.Name) || !e.Differs() && len(e.Unread) == 0
	})
	return rest, moves
}

// contentOf returns the objects of an environment as text, if all are added or removed, and otherwise nothing.
func contentOf(e *compare.Comparison, action compare.Action) string {
	isOther := func(c compare.Change) bool { return c.Action() != action }
	if len(e.Unchanged)+len(e.Definitions) > 0 || slices.ContainsFunc(e.Changes, isOther) {
		return ""
	}
	var b strings.Builder
	for _, c := range e.Changes {
		content, _ := json.Marshal(c.Object().Object) // an object comes from JSON
		b.Write(append(content, '\n'))
	}
	return b.String()
}

// reviewMove reviews an environment with the objects of another one that is gone.
func reviewMove(e *compare.Comparison, from string) EnvironmentReview {
	moved := effect.Of(manifest.ID{Kind: "Environment", Name: e.Name}, kind.Effect{Type: effect.EnvironmentMoved,
		What: kind.Say("was %s, and its %s stay the same", from, kind.Count(int64(len(e.Changes)), "object")),
		Risk: kind.Say("what syncs %s finds nothing there any more", from)})[0].Judged()
	return EnvironmentReview{Name: e.Name, Counts: Counts{}, Effects: []effect.Effect{moved}, Changes: []Change{}}
}

// reviewLost returns the effect of an environment that is none any more: nothing else tells its later changes.
func reviewLost(e *compare.Comparison) []effect.Effect {
	if !e.IsLost {
		return nil
	}
	return effect.Of(manifest.ID{Kind: "Environment", Name: e.Name}, kind.Effect{Type: effect.EnvironmentLost,
		What: "is no environment any more, although its files stay",
		Risk: "its cluster may get later changes that no check and no review sees"})
}
