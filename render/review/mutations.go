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
	before := both.Mutations(both.Before())
	after := both.Mutations(both.After())
	var all []effect.Effect
	for _, o := range both.After().Objects {
		id := compare.IDOf(o)
		was := compare.Change{Before: before[id].Before, After: before[id].After}.Fields()
		is := compare.Change{Before: after[id].Before, After: after[id].After}.Fields()
		if reflect.DeepEqual(was, is) {
			continue
		}
		e := kind.Effect{Type: effect.ObjectMutated, What: "is no longer changed by MutatingAdmissionPolicies"}
		if len(is) > 0 {
			e.Risk = "the cluster stores it so, and no file shows it"
			e.What = kind.Say("is changed by %s: ", after[id].Names()) +
				effect.SayFields(is, effect.MostChanged, effect.SayChange)
		}
		all = append(all, effect.Of(id, e)...)
	}
	for _, same := range groupBy(all, func(e effect.Effect) string { return string(e.What) }) {
		if more := int64(len(same) - 1); more > 0 {
			same[0].What += kind.Say("; the same of %s", kind.Count(more, "more object"))
		}
		effects = append(effects, same[0])
	}
	return effects
}
