package review

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/diff"
	"example.com/gatehouse/render/object"
)

// autoscaler decides how many Pods a workload has, unless that has none at all.
type autoscaler struct {
	by       Object
	target   Object
	min, max int64
}

// newAutoscaler reads a HorizontalPodAutoscaler, of any version, or a ScaledObject of KEDA.
func newAutoscaler(o *unstructured.Unstructured) (a autoscaler, ok bool) {
	switch id := idOf(o); {
	case id.Group == "autoscaling" && id.Kind == "HorizontalPodAutoscaler":
		a = autoscaler{by: id, min: number(o, 1, "spec", "minReplicas"), max: number(o, 0, "spec", "maxReplicas")}
	case id.Group == "keda.sh" && id.Kind == "ScaledObject":
		a = autoscaler{by: id, min: number(o, 0, "spec", "minReplicaCount"), max: number(o, 100, "spec", "maxReplicaCount")}
	default:
		return a, false
	}
	a.target = Object{"apps", text(o, "spec", "scaleTargetRef", "kind"), namespaceOf(o), text(o, "spec", "scaleTargetRef", "name")}
	if a.target.Kind == "" { // which KEDA takes for a Deployment
		a.target.Kind = "Deployment"
	}
	if version := text(o, "spec", "scaleTargetRef", "apiVersion"); version != "" {
		a.target.Group = object.Group(version)
	}
	return a, true
}

// autoscalerOf is what decides on the Pods of a workload; false where nothing does.
func (s side) autoscalerOf(o *unstructured.Unstructured) (autoscaler, bool) {
	id := idOf(o)
	id.Namespace = namespaceOf(o)
	a, ok := s.autoscalers[id]
	return a, ok && number(o, 1, "spec", "replicas") > 0
}

// replicas are how many Pods a workload wants: the fewest, where nothing but an autoscaler
// says it.
func (s side) replicas(o *unstructured.Unstructured) int64 {
	if a, ok := s.autoscalerOf(o); ok && number(o, -1, "spec", "replicas") < 0 {
		return a.min
	}
	return replicas(o)
}

// between is how many Pods there may be.
func (a autoscaler) between() Sentence { return say("%d to %s", a.min, count(a.max, "Pod")) }

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
	switch target := named(a.target); {
	case !ok:
		return Effect{}
	case c.Before == nil:
		e.What = say("scales %s from %s", target, a.between())
	case c.After == nil:
		e.What, e.Risk = say("is removed: nothing scales %s any more", target), "it stays at as many Pods as it has, or is told to have"
	default:
		before, _ := newAutoscaler(c.Before)
		switch {
		case before.target != a.target:
			e.What = say("scales %s from %s instead of %s", target, a.between(), named(before.target))
		case before != a:
			e.What = say("scales %s from %s instead of %s", target, a.between(), before.between())
		default:
			return Effect{}
		}
		if a.max < before.max {
			e.Risk = "under load it has fewer Pods than before"
		}
	}
	return e
}
