package pods

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/review/effect"
)

// isTrue reports whether a field of the spec is true: paused or suspend.
func isTrue(o *unstructured.Unstructured, field string) bool {
	value, _, _ := unstructured.NestedBool(o.Object, "spec", field)
	return value
}

// whenReplaced returns the number of Pods that a workload leaves as they are when its template changes, and says
// when it replaces them.
func whenReplaced(o *unstructured.Unstructured) (held int64, when kind.Sentence) {
	all := max(replicas(o), 1)
	partition := pod.Number(o, 0, "spec", "updateStrategy", "rollingUpdate", "partition")
	switch {
	case isTrue(o, "paused"):
		return all, "is paused: Pods are replaced when it is resumed"
	case o.GetKind() == "ReplicaSet" || o.GetKind() == "ReplicationController":
		return all, "running Pods stay, and new Pods differ"
	case compare.Text(o, "spec", "updateStrategy", "type") == "OnDelete":
		return all, "each Pod is replaced when it is deleted"
	case partition >= all:
		return all, kind.Say("Pods are replaced when the partition of its update is below %d", all)
	case partition > 0:
		return partition, kind.Say("Pods from number %d are replaced", partition)
	}
	return 0, "Pods are replaced"
}

// replicasIn returns the number of Pods of a workload: the minimum of an autoscaler, if the spec has none.
func replicasIn(s *compare.Side, o *unstructured.Unstructured) int64 {
	if a, ok := autoscalerOf(s, o); ok && pod.Number(o, -1, "spec", "replicas") < 0 {
		return a.Min
	}
	return replicas(o)
}

// rollout is the effect of a change of a workload on its Pods.
type rollout struct {
	kind.Rollout
	fields     kind.Sentence // the changed fields of the templates, unless other effects tell them
	told, size []string      // fields that these words and the numbers tell
}

// after returns the changed fields of the templates after a separator, or nothing.
func (r rollout) after(separator kind.Sentence) kind.Sentence {
	if r.fields == "" {
		return ""
	}
	return separator + r.fields
}

// RolloutOf returns the effect of a change of a workload on its Pods. before or after may be nil.
func RolloutOf(both *compare.Comparison, before, after *unstructured.Unstructured) kind.Rollout {
	return rolloutOf(both, before, after).Rollout
}

func rolloutOf(both *compare.Comparison, before, after *unstructured.Unstructured) (r rollout) {
	const unset = -1
	written := func(o *unstructured.Unstructured) int64 { return pod.Number(o, unset, "spec", "replicas") }
	if before != nil {
		r.Before = replicasIn(both.Before(), before)
	}
	if after != nil {
		r.After = replicasIn(both.After(), after)
	}
	if after != nil && r.After == written(after) && (before == nil || r.Before == written(before)) {
		r.size = []string{"spec.replicas"}
	}
	if before == nil || after == nil {
		return r
	}
	_, wasScaled := autoscalerOf(both.Before(), before)
	if _, isScaled := autoscalerOf(both.After(), after); isScaled && wasScaled {
		r.Before = r.After // git does not know the live number
	}
	if before != after {
		r.compareTemplates(both, before, after)
	}
	return r
}

// compareTemplates adds the differences of the templates to a rollout.
func (r *rollout) compareTemplates(both *compare.Comparison, before, after *unstructured.Unstructured) {
	all := (compare.Change{Before: before, After: after}).Fields()
	was := both.Templates(before)
	var fields []compare.FieldChange
	var short []kind.Sentence
	isChanged := false
	for i, is := range both.Templates(after) {
		if i >= len(was) || was[i].Field != is.Field ||
			equality.Semantic.DeepEqual(was[i].PodTemplateSpec, is.PodTemplateSpec) {
			continue
		}
		isChanged = true
		told := sets.Set[string]{}
		for _, e := range reviewPrograms(&was[i], &is) {
			told.Insert(e.Fields...)
		}
		for _, f := range all {
			if f.IsIn(strings.TrimSuffix(is.Field, ".spec")) && !f.IsWithin(told) {
				fields = append(fields, f)
				r.told = append(r.told, f.Path)
			}
			if part := ofTemplate.FindStringSubmatch(strings.TrimPrefix(f.Path, is.Field)); part != nil && isImage(f) {
				short = append(short, sayField(f))
			} else if part != nil {
				short = append(short, kind.Say("another %s", part[1]))
			}
		}
	}
	if !isChanged {
		return
	}
	slices.Sort(short)
	r.Difference = cmp.Or(effect.List(slices.Compact(short)), "other labels or annotations")
	r.fields = effect.SayFields(fields, effect.MostChanged, sayField)
	held, _ := whenReplaced(after)
	r.Replaced = held < max(replicas(after), 1) && (r.Before > 0 || after.GetKind() == "DaemonSet")
}

// ofTemplate matches the field of a Pod spec, or of a container there.
var ofTemplate = regexp.MustCompile(`^(?:\.(?:initC|c|ephemeralC)ontainers\[[^]]*\])?\.([A-Za-z]+)`)

func isImage(f compare.FieldChange) bool {
	return strings.HasSuffix(f.Path, ".image") && f.Before != nil && f.After != nil
}

// sayField describes a changed field of a template, an image in short.
func sayField(f compare.FieldChange) kind.Sentence {
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
		if isTrue(o, "suspend") {
			return 0
		}
		return pod.Number(o, 1, "spec", "parallelism")
	case "Pod":
		return 1
	}
	return 0
}
