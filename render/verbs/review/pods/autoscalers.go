package pods

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
)

// ReviewAutoscaler reviews autoscalers.
func ReviewAutoscaler(_ *world.World, c diff.Change) []kind.Effect {
	is, ok := pod.ReadAutoscaler(c.Object().Unstructured)
	if !ok {
		return nil
	}
	e := kind.Effect{Type: effect.AutoscalingChanged, What: kind.Say("scales %s from %s", nameOf(is.Target), between(is))}
	switch {
	case c.After == nil:
		e.What, e.Risk = kind.Say("is removed: %s is no longer scaled", nameOf(is.Target)), "it keeps its current number of Pods, or the number in its spec"
	case c.Before != nil:
		was, _ := pod.ReadAutoscaler(c.Before)
		switch {
		case was == is:
			return nil
		case was.Target != is.Target:
			e.What += kind.Say(" instead of %s", nameOf(was.Target))
		default:
			e.What += kind.Say(" instead of %s", between(was))
		}
		if is.Max < was.Max {
			e.Risk = "under load it has fewer Pods than before"
		}
	}
	return []kind.Effect{e}
}

// autoscalerOf returns the autoscaler of a workload, if any.
func autoscalerOf(s world.Side, o *unstructured.Unstructured) (pod.Autoscaler, bool) {
	scaler := s.Autoscalers[pod.WorkloadOf(o)]
	if scaler == nil || pod.Number(o, 1, "spec", "replicas") <= 0 {
		return pod.Autoscaler{}, false
	}
	return pod.ReadAutoscaler(scaler)
}

func nameOf(w pod.Workload) string { return manifest.ID(w).String() }

// between returns the range of Pods of an autoscaler.
func between(a pod.Autoscaler) kind.Sentence {
	return kind.Say("%d to %s", a.Min, kind.Count(a.Max, "Pod"))
}
