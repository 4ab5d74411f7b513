package pods

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
	"example.com/gatehouse/render/verdict/podsecurity"
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
	images, size []string // fields that the difference and the numbers tell in full
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

// compareTemplates adds the difference of the templates to a rollout.
func compareTemplates(w *world.World, r *Rollout, before, after *unstructured.Unstructured) {
	var said []kind.Sentence
	was := w.Templates(before)
	for i, is := range w.Templates(after) {
		if i < len(was) && was[i].Field == is.Field && !equality.Semantic.DeepEqual(was[i].PodTemplateSpec, is.PodTemplateSpec) {
			more, told := difference(was[i], is)
			said, r.images = append(said, more...), append(r.images, told...)
		}
	}
	if len(said) > effect.MaxListed {
		r.images = nil
	}
	r.Difference = effect.List(said)
	r.Replaced = len(said) > 0 && held(after) < max(replicas(after), 1) && (r.Before > 0 || after.GetKind() == "DaemonSet")
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

// difference describes the most notable differences of Pods, and returns the fields of images that it tells
// in full.
func difference(before, after podsecurity.Template) (said []kind.Sentence, images []string) {
	was, is := pod.Programs(&before.Spec), pod.Programs(&after.Spec)
	var fields []string
	for _, c := range is {
		i := slices.IndexFunc(was, func(old pod.Program) bool { return old.Name == c.Name })
		if i < 0 {
			continue
		}
		if was[i].Image != c.Image {
			from, to := kind.SayBoth(was[i].Image, c.Image)
			said = append(said, kind.Say("image %s → %s", from, to))
			if isWhole(from+to) && was[i].List == c.List {
				images = append(images, after.Field+"."+c.List+"["+c.Name+"].image")
			}
		}
		fields = append(fields, changedFields(was[i].Container, c.Container)...)
	}
	if !slices.EqualFunc(was, is, func(a, b pod.Program) bool { return a.Name == b.Name && a.Role == b.Role }) {
		said = append(said, "other containers")
	}
	fields = append(fields, changedFields(before.Spec, after.Spec)...)
	for _, field := range diff.Without(fields, []string{"containers", "ephemeralContainers", "image", "initContainers"}) {
		said = append(said, kind.Say("another %s", field))
	}
	if len(said) == 0 {
		said = append(said, "other labels or annotations")
	}
	return said, images
}

// changedFields returns the names of the fields that differ.
func changedFields[T any](before, after T) (names []string) {
	was, is := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range was.NumField() {
		if !equality.Semantic.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()) {
			name, _, _ := strings.Cut(was.Type().Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}
