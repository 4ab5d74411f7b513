package reach

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
)

// values describe a list of values in an object, and the effects of removing, adding and changing some. %s in
// an effect stands for the values. An effect without a type is not reported.
type values struct {
	of                   func(o *unstructured.Unstructured) []string
	to                   func(o *unstructured.Unstructured) map[string]string // the targets of values, if they have any
	within               func(value string) func(other string) bool           // reports whether another value includes it
	gone, added, changed kind.Effect
	change               string // describes a value with its targets after and before
}

// review returns the effects of removed, added and changed values.
func (v values) review(c diff.Change) (effects []kind.Effect) {
	was, is := world.Both(c, v.of)
	gone, added, changed := v.without(was, is), v.without(is, was), []kind.Sentence(nil)
	if v.to != nil {
		from, to := world.Both(c, v.to)
		for _, value := range diff.Without(is, nil) {
			if old, ok := from[value]; ok && old != to[value] {
				before, after := kind.SayBoth(old, to[value])
				changed = append(changed, kind.Say(v.change, value, after, before))
			}
		}
		for i, value := range diff.Without(is, was) {
			added[i] = kind.Say("%s for %s", value, to[value])
		}
	}
	tell := func(e kind.Effect, values []kind.Sentence) {
		if e.Type != "" && len(values) > 0 {
			e.What = kind.Say(string(e.What), effect.List(values))
			effects = append(effects, e)
		}
	}
	tell(v.gone, gone)
	tell(v.added, added)
	tell(v.changed, changed)
	return effects
}

// without returns the values that others do not include, each once.
func (v values) without(values, others []string) (left []kind.Sentence) {
	for _, value := range diff.Without(values, others) {
		if v.within == nil || !slices.ContainsFunc(others, v.within(value)) {
			left = append(left, kind.Say("%s", value))
		}
	}
	return left
}
