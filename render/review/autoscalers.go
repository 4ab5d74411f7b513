package review

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/diff"
	"example.com/gatehouse/render/object"
)

// autoscaler decides how many Pods a workload has.
type autoscaler struct {
	object.Autoscaler
	by Object
}

func newAutoscaler(o *unstructured.Unstructured) (autoscaler, bool) {
	a, ok := object.ReadAutoscaler(o)
	return autoscaler{a, idOf(o)}, ok
}

// autoscalerOf is what decides on the Pods of a workload; false where nothing does.
func (s side) autoscalerOf(o *unstructured.Unstructured) (autoscaler, bool) {
	a, ok := s.autoscalers[Object(object.Object{Unstructured: o}.IDInNamespace())]
	return a, ok && object.Number(o, 1, "spec", "replicas") > 0
}

// replicas are how many Pods a workload wants: the fewest, where nothing but an autoscaler
// says it.
func (s side) replicas(o *unstructured.Unstructured) int64 {
	if a, ok := s.autoscalerOf(o); ok && object.Number(o, -1, "spec", "replicas") < 0 {
		return a.Min
	}
	return replicas(o)
}

// between is how many Pods there may be.
func (a autoscaler) between() Sentence { return say("%d to %s", a.Min, count(a.Max, "Pod")) }

// autoscaling are the autoscalers that come, go, or have other bounds.
func (w *world) autoscaling() (effects []Effect) {
	for _, c := range w.Changes {
		if w.refused[idOf(c.Object().Unstructured)] {
			continue
		}
		if e := autoscalingEffect(c); e.Type != "" {
			effects = append(effects, e)
		}
	}
	return effects
}

func autoscalingEffect(c diff.Change) Effect {
	e := Effect{Type: AutoscalingChanged, Object: idOf(c.Object().Unstructured)}
	a, ok := newAutoscaler(c.Object().Unstructured)
	switch target := named(Object(a.Target)); {
	case !ok:
		return Effect{}
	case c.Before == nil:
		e.What = say("scales %s from %s", target, a.between())
	case c.After == nil:
		e.What, e.Risk = say("is removed: nothing scales %s any more", target), "it stays at as many Pods as it has, or is told to have"
	default:
		before, _ := newAutoscaler(c.Before)
		switch {
		case before.Target != a.Target:
			e.What = say("scales %s from %s instead of %s", target, a.between(), named(Object(before.Target)))
		case before != a:
			e.What = say("scales %s from %s instead of %s", target, a.between(), before.between())
		default:
			return Effect{}
		}
		if a.Max < before.Max {
			e.Risk = "under load it has fewer Pods than before"
		}
	}
	return e
}
