package pods

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
)

func isPaused(o *unstructured.Unstructured) bool {
	paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
	return paused
}

// isReplicaSet reports whether a workload never replaces Pods.
func isReplicaSet(o *unstructured.Unstructured) bool {
	return o.GetKind() == "ReplicaSet" || o.GetKind() == "ReplicationController"
}

// held returns the number of Pods that a workload leaves as they are when its template changes.
func held(o *unstructured.Unstructured) int64 {
	all := max(replicas(o), 1)
	if isPaused(o) || isReplicaSet(o) || world.Text(o, "spec", "updateStrategy", "type") == "OnDelete" {
		return all
	}
	return min(all, pod.Number(o, 0, "spec", "updateStrategy", "rollingUpdate", "partition"))
}

// whenReplaced says when a workload replaces Pods that differ from its template.
func whenReplaced(o *unstructured.Unstructured) kind.Sentence {
	switch number := held(o); {
	case isPaused(o):
		return "is paused: Pods are replaced when it is resumed"
	case isReplicaSet(o):
		return "running Pods stay, and new Pods differ"
	case world.Text(o, "spec", "updateStrategy", "type") == "OnDelete":
		return "each Pod is replaced when it is deleted"
	case number == max(replicas(o), 1):
		return kind.Say("Pods are replaced when the partition of its update is below %d", number)
	case number > 0:
		return kind.Say("Pods from number %d are replaced", number)
	}
	return "Pods are replaced"
}

// replicasIn returns the number of Pods of a workload: the minimum of an autoscaler, if the spec has none.
func replicasIn(s world.Side, o *unstructured.Unstructured) int64 {
	if a, ok := autoscalerOf(s, o); ok && pod.Number(o, -1, "spec", "replicas") < 0 {
		return a.Min
	}
	return replicas(o)
}

// Rollout is the effect of a change of a workload on its Pods.
type Rollout struct {
	kind.Rollout
	fields     kind.Sentence // the difference in full
	told, size []string      // fields that the full difference and the numbers tell
}

// RolloutOf returns the effect of a change of a workload on its Pods. before or after may be nil.
func RolloutOf(w *world.World, before, after *unstructured.Unstructured) (r Rollout) {
	const unset = -1
	written := func(o *unstructured.Unstructured) int64 { return pod.Number(o, unset, "spec", "replicas") }
	if before != nil {
		r.Before = replicasIn(w.Before, before)
	}
	if after != nil {
		r.After = replicasIn(w.After, after)
	}
	if after != nil && r.After == written(after) && (before == nil || r.Before == written(before)) {
		r.size = []string{"spec.replicas"}
	}
	if before == nil || after == nil {
		return r
	}
	_, wasScaled := autoscalerOf(w.Before, before)
	if _, isScaled := autoscalerOf(w.After, after); isScaled && wasScaled {
		r.Before = r.After // git does not know the live number
	}
	if before != after {
		compareTemplates(w, &r, before, after)
	}
	return r
}

// compareTemplates adds the differences of the templates to a rollout.
func compareTemplates(w *world.World, r *Rollout, before, after *unstructured.Unstructured) {
	var fields []diff.FieldChange
	var short []kind.Sentence
	all, was, isChanged := w.FieldsOf(diff.Change{Before: before, After: after}), w.Templates(before), false
	for i, is := range w.Templates(after) {
		if i >= len(was) || was[i].Field != is.Field || equality.Semantic.DeepEqual(was[i].PodTemplateSpec, is.PodTemplateSpec) {
			continue
		}
		isChanged = true
		for _, f := range all {
			if f.IsIn(strings.TrimSuffix(is.Field, ".spec")) {
				fields, r.told = append(fields, f), append(r.told, f.Path)
			}
			if name := ofTemplate.FindStringSubmatch(strings.TrimPrefix(f.Path, is.Field)); f.IsIn(is.Field) && isImage(f) {
				short = append(short, sayField(f))
			} else if f.IsIn(is.Field) && name != nil {
				short = append(short, kind.Say("another %s", name[1]))
			}
		}
	}
	if isChanged {
		slices.Sort(short)
		r.Difference = cmp.Or(effect.List(slices.Compact(short)), "other labels or annotations")
		r.fields = cmp.Or(effect.SayFields(fields, effect.MostChanged, sayField), r.Difference)
		r.Replaced = held(after) < max(replicas(after), 1) && (r.Before > 0 || after.GetKind() == "DaemonSet")
	}
}

// ofTemplate matches the field of a Pod spec, or of a container there.
var ofTemplate = regexp.MustCompile(`^(?:\.(?:initC|c|ephemeralC)ontainers\[[^]]*\])?\.([A-Za-z]+)`)

func isImage(f diff.FieldChange) bool {
	return strings.HasSuffix(f.Path, ".image") && f.Before != nil && f.After != nil
}

// sayField describes a changed field of a template, an image in short.
func sayField(f diff.FieldChange) kind.Sentence {
	if !isImage(f) {
		return effect.SayChange(f)
	}
	was, is := kind.SayBoth(*f.Before, *f.After)
	return kind.Say("image %s → %s", was, is)
}

// replicas returns the number of Pods in the spec of a workload.
func replicas(o *unstructured.Unstructured) int64 {
	switch o.GetKind() {
	case "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet":
		return pod.Number(o, 1, "spec", "replicas")
	case "Job":
		if isSuspended(o) {
			return 0
		}
		return pod.Number(o, 1, "spec", "parallelism")
	case "Pod":
		return 1
	}
	return 0
}
