package review

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/render/review/known"
)

// rank ranks effects: those with a risk, then known ones, whose every field a rule knows. All others are unknown.
func rank(both *compare.Comparison, effects []effect.Effect) {
	changes := map[manifest.ID]compare.Change{}
	for _, c := range slices.Concat(both.Changes, both.Definitions) {
		changes[c.Object().ID()] = c
	}
	for i, e := range effects {
		if c, isChange := changes[e.Object]; e.Rank == "" && isKnown(both, c, isChange, e) {
			e.Rank = effect.IsKnown
		}
		effects[i] = e.Judged()
	}
}

// isKnown reports whether rules know all fields that an effect tells. Some types of effects tell the consequence of
// fields that other effects tell.
func isKnown(both *compare.Comparison, c compare.Change, isChange bool, e effect.Effect) bool {
	if isChange && both.IsUnproven(c.InstalledBy) {
		return false
	}
	follows := []string{effect.ConfigChanged, effect.RenderedFollow, effect.WorkloadRolled, kind.RunPlanned}
	if !isChange || len(e.Fields) == 0 {
		return slices.Contains(follows, e.Type) && (!isChange || c.Before != nil)
	}
	told := 0
	paths := sets.New(e.Fields...)
	for _, f := range c.Fields() {
		if !f.IsWithin(paths) {
			continue
		}
		if told++; !known.Is(both, c, f) {
			return false
		}
	}
	return told > 0
}
