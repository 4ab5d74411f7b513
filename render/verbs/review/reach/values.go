package reach

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
)

// values describe a list of values in an object, and the effects of removing and adding some. %s in an
// effect stands for the values. An effect without a type is not reported.
type values struct {
	of          func(o *unstructured.Unstructured) []string
	gone, added kind.Effect
}

// Review returns the effects of removed and added values.
func (v values) Review(_ *world.World, c diff.Change) (effects []kind.Effect) {
	var was, is []string
	if c.Before != nil {
		was = v.of(c.Before)
	}
	if c.After != nil {
		is = v.of(c.After)
	}
	tell := func(e kind.Effect, values []string) {
		if e.Type != "" && len(values) > 0 {
			e.What = kind.Say(string(e.What), effect.Quote(values))
			effects = append(effects, e)
		}
	}
	tell(v.gone, diff.Without(was, is))
	tell(v.added, diff.Without(is, was))
	return effects
}
