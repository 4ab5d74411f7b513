package review

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
)

// rule returns the effects of a change of an object.
type rule func(w *world, c diff.Change) []kind.Effect

// rules maps kinds, with their group, to their rules.
var rules = map[string]rule{
	"CronJob.batch":         reviewCronJob,
	"DaemonSet.apps":        reviewWorkload,
	"Deployment.apps":       reviewWorkload,
	"Job.batch":             reviewRun,
	"Pod":                   reviewRun,
	"PodTemplate":           reviewRun,
	"ReplicaSet.apps":       reviewWorkload,
	"ReplicationController": reviewWorkload,
	"StatefulSet.apps":      reviewWorkload,

	"HorizontalPodAutoscaler.autoscaling": reviewAutoscaler,
	"ScaledObject.keda.sh":                reviewAutoscaler,

	"GRPCRoute.gateway.networking.k8s.io": reviewRoute,
	"Gateway.gateway.networking.k8s.io":   listeners.review,
	"HTTPRoute.gateway.networking.k8s.io": reviewRoute,
	"Ingress.networking.k8s.io":           reviewRoute,
	"Service":                             reviewService,
	"TCPRoute.gateway.networking.k8s.io":  reviewRoute,
	"TLSRoute.gateway.networking.k8s.io":  reviewRoute,
	"UDPRoute.gateway.networking.k8s.io":  reviewRoute,

	"CustomResourceDefinition.apiextensions.k8s.io": reviewDefinition,
	"Namespace":             reviewNamespace,
	"ConfigMap":             reviewConfig,
	"Secret":                reviewConfig,
	"ServiceAccount":        reviewAccount,
	"PersistentVolume":      removalOf(StorageRemoved, "claims lose their data, unless it is retained"),
	"PersistentVolumeClaim": removalOf(StorageRemoved, "its data is lost, unless its volume is retained"),
}

// coveredTypes are the effects on rendered objects that the effect on the source object replaces.
var coveredTypes = []string{
	GuardChanged, GuardRemoved, RouteRemoved, WorkloadAdded, WorkloadRemoved, WorkloadRolled, WorkloadScaled,
	kind.RunAtOnce, kind.RunCanceled, kind.RunPlanned, kind.RunSuspended,
}

// review returns the effects of a change of an object, by the rule of its kind.
func (w *world) review(c diff.Change) (effects []kind.Effect) {
	o := c.Object().Unstructured
	if e, ok := w.refused[idOf(o)]; ok {
		effects = []kind.Effect{e}
		if rule := rules[kindOf(o)]; rule != nil && isForced(o) {
			effects = append(effects, rule(w, diff.Change{After: c.After})...) // it is created again
		}
		return effects
	}
	isCovered := w.isCovered(o)
	if c.After == nil {
		if w.gone[o.GetNamespace()] {
			return nil // covered by the effect on its Namespace
		}
		if by := keptBy(o); by != "" && !isCovered {
			return []kind.Effect{{Type: ObjectKept, What: kind.Say("stays in the cluster: %s prevents pruning", by)}}
		}
	}
	if rule := rules[kindOf(o)]; rule != nil {
		effects = rule(w, c)
	} else {
		effects = reviewCustom(w, c)
	}
	effects = append(effects, w.reviewGuards(c)...)
	if isCovered {
		effects = slices.DeleteFunc(effects, func(e kind.Effect) bool { return slices.Contains(coveredTypes, e.Type) })
	}
	return effects
}

// values describe a list of values in an object, and the effects of removing and adding some. %s in an
// effect stands for the values. An effect without a type is not reported.
type values struct {
	of          func(o *unstructured.Unstructured) []string
	gone, added kind.Effect
}

// review returns the effects of removed and added values.
func (v values) review(_ *world, c diff.Change) (effects []kind.Effect) {
	var was, is []string
	if c.Before != nil {
		was = v.of(c.Before)
	}
	if c.After != nil {
		is = v.of(c.After)
	}
	tell := func(e kind.Effect, values []string) {
		if e.Type != "" && len(values) > 0 {
			e.What = kind.Say(string(e.What), quoteAll(values))
			effects = append(effects, e)
		}
	}
	tell(v.gone, diff.Without(was, is))
	tell(v.added, diff.Without(is, was))
	return effects
}

// removalOf returns the rule of an object that matters only when it is removed.
func removalOf(effect string, risk kind.Sentence) rule {
	return func(_ *world, c diff.Change) []kind.Effect {
		if c.After != nil {
			return nil
		}
		return []kind.Effect{{Type: effect, What: "is removed", Risk: risk}}
	}
}

// reviewDefinition reviews CustomResourceDefinitions. A kind may review its own.
func reviewDefinition(w *world, c diff.Change) []kind.Effect {
	if c.After == nil {
		return []kind.Effect{{Type: DefinitionRemoved, What: "is removed", Risk: kind.Say("every %s of the cluster is deleted", crd.Kind(c.Before).Kind)}}
	}
	defined := crd.Kind(c.After)
	k := w.sourceKind(manifest.ID{Group: defined.Group, Kind: defined.Kind})
	if c.Before == nil || k == nil {
		return nil
	}
	return orUnknown(registry.ReviewCRD(k, c.Before, c.After))
}

// reviewAutoscaler reviews autoscalers.
func reviewAutoscaler(_ *world, c diff.Change) []kind.Effect {
	is, ok := pod.ReadAutoscaler(c.Object().Unstructured)
	if !ok {
		return nil
	}
	e := kind.Effect{Type: AutoscalingChanged, What: kind.Say("scales %s from %s", nameOf(is.Target), between(is))}
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
func (s side) autoscalerOf(o *unstructured.Unstructured) (pod.Autoscaler, bool) {
	scaler := s.autoscalers[pod.WorkloadOf(o)]
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
