package review

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/check"
	"example.com/gatehouse/render/diff"
	"example.com/gatehouse/render/kinds"
	"example.com/gatehouse/render/object"
)

// rollout is what a change of a workload does to its Pods.
type rollout struct {
	from, to   int64 // how many Pods
	isReplaced bool
	what       Sentence // what is new about those that replace others
}

func newRollout(before, after *unstructured.Unstructured) rollout {
	r := rollout{from: replicas(before), to: replicas(after)}
	was, ok := check.PodTemplate(object.Object{Unstructured: before})
	is, isKnown := check.PodTemplate(object.Object{Unstructured: after})
	if !ok || !isKnown || equality.Semantic.DeepEqual(was, is) {
		return r
	}
	r.isReplaced = text(after, "spec", "updateStrategy", "type") != "OnDelete"
	r.what = differenceOf(was, is)
	return r
}

// replicas are how many Pods a workload wants.
func replicas(o *unstructured.Unstructured) int64 {
	switch o.GetKind() {
	case "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet":
		return number(o, 1, "spec", "replicas")
	case "Job":
		if suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend"); suspended {
			return 0
		}
		return number(o, 1, "spec", "parallelism")
	case "Pod":
		return 1
	}
	return 0
}

// differenceOf says what is most notable about Pods that differ.
func differenceOf(before, after *corev1.PodTemplateSpec) Sentence {
	was, is := containersOf(before), containersOf(after)
	images := map[string]string{}
	for _, c := range was {
		images[c.Name] = c.Image
	}
	for _, c := range is {
		if old := images[c.Name]; old != "" && old != c.Image {
			return say("image %s → %s", quoted(old), quoted(c.Image))
		}
	}
	switch {
	case !slices.EqualFunc(was, is, func(a, b corev1.Container) bool { return a.Name == b.Name }):
		return "other containers"
	case differs(was, is, func(c corev1.Container) any { return c.Resources }):
		return "other resources"
	case differs(was, is, func(c corev1.Container) any { return [][]string{c.Command, c.Args} }):
		return "another command"
	case differs(was, is, func(c corev1.Container) any { return []any{c.Env, c.EnvFrom} }):
		return "another environment"
	}
	if fields := changedFields(before.Spec, after.Spec); len(fields) > 0 {
		return "another " + quotedList(fields)
	}
	return "other labels or annotations"
}

// changedFields are the names of the fields that differ.
func changedFields(before, after corev1.PodSpec) (names []string) {
	was, is := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range was.NumField() {
		if !equality.Semantic.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()) {
			name, _, _ := strings.Cut(was.Type().Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}

func containersOf(template *corev1.PodTemplateSpec) []corev1.Container {
	return slices.Concat(template.Spec.InitContainers, template.Spec.Containers)
}

func differs(before, after []corev1.Container, part func(corev1.Container) any) bool {
	return !slices.EqualFunc(before, after, func(a, b corev1.Container) bool {
		return equality.Semantic.DeepEqual(part(a), part(b))
	})
}

// workloads are the Pods of other kinds that start, stop or are replaced.
func (w *world) workloads() (effects []Effect) {
	for _, c := range w.Changes {
		o := c.Object().Unstructured
		if _, hasPods := object.PodTemplatePath(o.GetKind()); !hasPods || kinds.RenderedFrom(o) != nil || w.refused[idOf(o)] {
			continue
		}
		e := workloadEffect(c)
		if e.Type != "" {
			e.Object = idOf(o)
			effects = append(effects, e)
		}
	}
	return effects
}

func workloadEffect(c diff.Change) Effect {
	switch c.Action() {
	case diff.Added:
		return startEffect(c.After)
	case diff.Removed:
		return stopEffect(c.Before)
	}
	r := newRollout(c.Before, c.After)
	switch kind := c.After.GetKind(); {
	case r.from > 0 && r.to == 0:
		return Effect{Type: WorkloadScaled, What: say("%d → 0 Pods", r.from), Risk: "nothing of it runs any more"}
	case kind == "CronJob", kind == "Job", kind == "Pod", kind == "PodTemplate":
		return Effect{}
	case r.isReplaced && text(c.After, "spec", "strategy", "type") == "Recreate":
		return Effect{Type: WorkloadRolled, What: say("all Pods are replaced at once: %s", r.what), Risk: "its strategy is Recreate: none runs meanwhile"}
	case r.isReplaced && r.from != r.to:
		return Effect{Type: WorkloadRolled, What: say("Pods are replaced: %s; %d → %s", r.what, r.from, count(r.to, "Pod"))}
	case r.isReplaced:
		return Effect{Type: WorkloadRolled, What: say("Pods are replaced: %s", r.what)}
	case r.from != r.to:
		return Effect{Type: WorkloadScaled, What: say("%d → %s", r.from, count(r.to, "Pod"))}
	}
	return Effect{}
}

// startEffect is that of a workload that is added, where it runs to an end.
func startEffect(o *unstructured.Unstructured) Effect {
	switch o.GetKind() {
	case "CronJob":
		if suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend"); suspended {
			return Effect{Type: RunSuspended, What: say("is suspended, and would run on the schedule %s", quoted(text(o, "spec", "schedule")))}
		}
		return Effect{Type: RunPlanned, What: say("runs on the schedule %s", quoted(text(o, "spec", "schedule")))}
	case "Job", "Pod":
		if replicas(o) > 0 {
			return Effect{Type: RunAtOnce, What: say("runs at once%s", commandOf(o))}
		}
	}
	return Effect{}
}

// commandOf is what the Pods of a workload run, where it says that.
func commandOf(o *unstructured.Unstructured) Sentence {
	template, ok := check.PodTemplate(object.Object{Unstructured: o})
	if !ok || len(template.Spec.Containers) == 0 {
		return ""
	}
	first := template.Spec.Containers[0]
	if words := slices.Concat(first.Command, first.Args); len(words) > 0 {
		return ": " + quoted(strings.Join(words, " "))
	}
	return ": " + quoted(first.Image)
}

func stopEffect(o *unstructured.Unstructured) Effect {
	switch o.GetKind() {
	case "Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "ReplicationController":
		return Effect{Type: WorkloadRemoved, What: "is removed with its Pods", Risk: stopRisk(o)}
	case "CronJob":
		return Effect{Type: RunCanceled, What: say("does not run any more on the schedule %s", quoted(text(o, "spec", "schedule")))}
	}
	return Effect{}
}

func stopRisk(o *unstructured.Unstructured) Sentence {
	claims, _, _ := unstructured.NestedSlice(o.Object, "spec", "volumeClaimTemplates")
	switch {
	case len(claims) == 0:
		return "what it serves is gone"
	case text(o, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted") == "Delete":
		return "its volumes are deleted with it: their data is lost"
	}
	return "what it serves is gone; its PersistentVolumeClaims stay"
}
