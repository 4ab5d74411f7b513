package review

import (
	"reflect"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/review/effect"
)

// reviewMutations returns the effects of MutatingAdmissionPolicies: new differences between the files of objects and
// the objects in a cluster. Objects with the same difference have one effect.
func reviewMutations(both *compare.Comparison) (effects []effect.Effect) {
	before, after := both.Mutations(both.Before()), both.Mutations(both.After())
	index, objects := map[kind.Sentence]int{}, map[kind.Sentence]int64{}
	for _, o := range both.After().Objects {
		id := compare.IDOf(o)
		was, is := compare.Change{Before: before[id].Before, After: before[id].After}.Fields(),
			compare.Change{Before: after[id].Before, After: after[id].After}.Fields()
		if reflect.DeepEqual(was, is) {
			continue
		}
		what, risk := kind.Say("is no longer changed by MutatingAdmissionPolicies"), kind.Sentence("")
		if len(is) > 0 {
			risk = "the cluster stores it so, and no file shows it"
			what = kind.Say("is changed by %s: ", after[id].Names()) +
				effect.SayFields(is, effect.MostChanged, effect.SayChange)
		}
		if objects[what]++; objects[what] == 1 {
			index[what] = len(effects)
			effects = append(effects, effect.Of(id, kind.Effect{Type: effect.ObjectMutated, What: what, Risk: risk})...)
		}
	}
	for what, i := range index {
		if more := objects[what] - 1; more > 0 {
			effects[i].What += kind.Say("; the same of %s", kind.Count(more, "more object"))
		}
	}
	return effects
}
