package review

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict"
)

// replicas returns how many Pods a workload asks for: the fewest where only an autoscaler says
// how many.
func (s side) replicas(o *unstructured.Unstructured) int64 {
	if a, ok := s.autoscalerOf(o); ok && manifest.Number(o, -1, "spec", "replicas") < 0 {
		return a.Min
	}
	return replicas(o)
}

// rollout returns what a change of a workload does to its Pods. Before or after may be nil.
func (w *world) rollout(before, after *unstructured.Unstructured) (r kind.Rollout) {
	if before != nil {
		r.Before = w.before.replicas(before)
	}
	if after != nil {
		r.After = w.after.replicas(after)
	}
	if before == nil || after == nil {
		return r
	}
	_, wasScaled := w.before.autoscalerOf(before)
	if _, isScaled := w.after.autoscalerOf(after); isScaled && wasScaled {
		r.Before = r.After // as far as git tells
	}
	if before == after {
		return r
	}
	was, ok := verdict.PodTemplate(manifest.Object{Unstructured: before})
	is, isKnown := verdict.PodTemplate(manifest.Object{Unstructured: after})
	if ok && isKnown && !equality.Semantic.DeepEqual(was, is) {
		r.Replaced = replaces(after) && (r.Before > 0 || after.GetKind() == "DaemonSet")
		r.Difference = difference(was, is)
	}
	return r
}

// replaces reports whether a workload replaces Pods that are not as its template.
func replaces(o *unstructured.Unstructured) bool {
	isPaused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
	partition := manifest.Number(o, 0, "spec", "updateStrategy", "rollingUpdate", "partition")
	return !isPaused && text(o, "spec", "updateStrategy", "type") != "OnDelete" && (partition == 0 || partition < replicas(o))
}

// replicas returns how many Pods a workload asks for by itself.
func replicas(o *unstructured.Unstructured) int64 {
	switch o.GetKind() {
	case "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet":
		return manifest.Number(o, 1, "spec", "replicas")
	case "Job":
		if isSuspended(o) {
			return 0
		}
		return manifest.Number(o, 1, "spec", "parallelism")
	case "Pod":
		return 1
	}
	return 0
}

// difference says what is most notable about Pods that differ.
func difference(before, after *corev1.PodTemplateSpec) kind.Sentence {
	was := slices.Concat(before.Spec.InitContainers, before.Spec.Containers)
	is := slices.Concat(after.Spec.InitContainers, after.Spec.Containers)
	var said []kind.Sentence
	var fields []string
	for _, c := range is {
		i := slices.IndexFunc(was, func(old corev1.Container) bool { return old.Name == c.Name })
		if i < 0 {
			continue
		}
		if was[i].Image != c.Image {
			from, to := kind.SayBoth(was[i].Image, c.Image)
			said = append(said, kind.Say("image %s → %s", from, to))
		}
		fields = append(fields, changedFields(was[i], c)...)
	}
	if !slices.EqualFunc(was, is, func(a, b corev1.Container) bool { return a.Name == b.Name }) {
		said = append(said, "other containers")
	}
	fields = append(fields, changedFields(before.Spec, after.Spec)...)
	for _, field := range without(fields, []string{"containers", "image", "initContainers"}) {
		said = append(said, kind.Say("another %s", field))
	}
	if len(said) == 0 {
		return "other labels or annotations"
	}
	return list(said)
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
