package review

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/check"
	"example.com/gatehouse/render/diff"
	"example.com/gatehouse/render/object"
)

// rollout is what a change of a workload does to its Pods.
type rollout struct {
	from, to   int64 // how many Pods
	isReplaced bool
	what       Sentence // what is new about those that replace others
}

func (w *world) newRollout(before, after *unstructured.Unstructured) rollout {
	r := rollout{from: w.before.replicas(before), to: w.after.replicas(after)}
	_, isScaled := w.after.autoscalerOf(after)
	if _, wasScaled := w.before.autoscalerOf(before); isScaled && wasScaled {
		r.from = r.to // as far as anybody knows who looks at git
	}
	was, ok := check.PodTemplate(object.Object{Unstructured: before})
	is, isKnown := check.PodTemplate(object.Object{Unstructured: after})
	if !ok || !isKnown || equality.Semantic.DeepEqual(was, is) {
		return r
	}
	r.isReplaced = replaces(after) && (r.from > 0 || after.GetKind() == "DaemonSet")
	r.what = differenceOf(was, is)
	return r
}

// replaces says whether a workload replaces Pods that are not as it has them.
func replaces(o *unstructured.Unstructured) bool {
	isPaused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
	partition := object.Number(o, 0, "spec", "updateStrategy", "rollingUpdate", "partition")
	return !isPaused && text(o, "spec", "updateStrategy", "type") != "OnDelete" && (partition == 0 || partition < replicas(o))
}

// replicas are how many Pods a workload wants.
func replicas(o *unstructured.Unstructured) int64 {
	switch o.GetKind() {
	case "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet":
		return object.Number(o, 1, "spec", "replicas")
	case "Job":
		if isSuspended(o) {
			return 0
		}
		return object.Number(o, 1, "spec", "parallelism")
	case "Pod":
		return 1
	}
	return 0
}

// differenceOf says what is most notable about Pods that differ.
func differenceOf(before, after *corev1.PodTemplateSpec) Sentence {
	const most = 4
	was, is := containersOf(before), containersOf(after)
	said := newImages(was, is)
	if slices.EqualFunc(was, is, func(a, b corev1.Container) bool { return a.Name == b.Name }) {
		said = append(said, newSettings(was, is)...)
	} else {
		said = append(said, "other containers")
	}
	for _, field := range without(changedFields(before.Spec, after.Spec), []string{"containers", "initContainers"}) {
		said = append(said, "another "+quoted(field))
	}
	if len(said) == 0 {
		return "other labels or annotations"
	}
	list := said[0]
	for _, one := range said[1:min(len(said), most)] {
		list += ", " + one
	}
	if len(said) > most {
		list += say(" and %d more", len(said)-most)
	}
	return list
}

// newImages are the images of containers that have another one.
func newImages(before, after []corev1.Container) (said []Sentence) {
	images := map[string]string{}
	for _, c := range before {
		images[c.Name] = c.Image
	}
	for _, c := range after {
		if old := images[c.Name]; old != "" && old != c.Image {
			was, is := quotedBoth(old, c.Image)
			said = append(said, say("image %s → %s", was, is))
		}
	}
	return said
}

// newSettings are what else differs in the same containers.
func newSettings(before, after []corev1.Container) (said []Sentence) {
	names := map[string]Sentence{
		"resources": "other resources", "command": "another command", "args": "other arguments", "env": "another environment", "envFrom": "another environment",
	}
	for i := range before {
		for _, field := range without(changedFields(before[i], after[i]), []string{"image"}) {
			name := cmp.Or(names[field], "another "+quoted(field))
			if !slices.Contains(said, name) {
				said = append(said, name)
			}
		}
	}
	return said
}

// changedFields are the names of the fields that differ.
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

func containersOf(template *corev1.PodTemplateSpec) []corev1.Container {
	return slices.Concat(template.Spec.InitContainers, template.Spec.Containers)
}

// workloads are the Pods of other kinds that start, stop or are replaced.
func (w *world) workloads() (effects []Effect) {
	for _, c := range w.Changes {
		o := c.Object().Unstructured
		if !hasPods(o) || w.isCovered(o) || w.refused[idOf(o)] {
			continue
		}
		e := w.workloadEffect(c)
		if e.Type != "" {
			e.Object = idOf(o)
			effects = append(effects, e)
		}
	}
	return effects
}

// hasPods says whether an object is of a built-in kind that makes Pods.
func hasPods(o *unstructured.Unstructured) bool {
	_, ok := object.PodTemplatePath(o.GetKind())
	return ok && !strings.Contains(o.GroupVersionKind().Group, ".") // which those of others have
}

func (w *world) workloadEffect(c diff.Change) Effect {
	switch c.Action() {
	case diff.Added:
		return w.startEffect(c.After)
	case diff.Removed:
		return stopEffect(c.Before)
	}
	switch c.After.GetKind() {
	case "CronJob":
		return w.cronJobEffect(c.Before, c.After)
	case "Job":
		return jobEffect(c.Before, c.After)
	case "Pod", "PodTemplate":
		return Effect{}
	}
	if e := w.firstScaled(c.Before, c.After); e.Type != "" {
		return e
	}
	return rolloutEffect(w.newRollout(c.Before, c.After), c.After)
}

// rolloutEffect is what becomes of the Pods of a workload that changes.
func rolloutEffect(r rollout, after *unstructured.Unstructured) Effect {
	switch {
	case r.from > 0 && r.to == 0:
		return Effect{Type: WorkloadScaled, What: say("%d → 0 Pods", r.from), Risk: "nothing of it runs any more"}
	case r.isReplaced && text(after, "spec", "strategy", "type") == "Recreate":
		return Effect{Type: WorkloadRolled, What: say("all Pods are replaced at once: %s", r.what), Risk: "its strategy is Recreate: none runs meanwhile"}
	case r.isReplaced && r.from != r.to:
		return Effect{Type: WorkloadRolled, What: say("Pods are replaced: %s; %d → %s", r.what, r.from, count(r.to, "Pod")), Risk: shrinkRisk(r, after)}
	case r.isReplaced:
		return Effect{Type: WorkloadRolled, What: say("Pods are replaced: %s", r.what)}
	case r.from != r.to:
		return Effect{Type: WorkloadScaled, What: say("%d → %s", r.from, count(r.to, "Pod")), Risk: shrinkRisk(r, after)}
	}
	return Effect{}
}

// shrinkRisk is what is lost with the Pods that go.
func shrinkRisk(r rollout, o *unstructured.Unstructured) Sentence {
	claims, _, _ := unstructured.NestedSlice(o.Object, "spec", "volumeClaimTemplates")
	if r.to < r.from && len(claims) > 0 && text(o, "spec", "persistentVolumeClaimRetentionPolicy", "whenScaled") == "Delete" {
		return say("the volumes of %s are deleted: their data is lost", count(r.from-r.to, "Pod"))
	}
	return ""
}

// firstScaled is the effect of leaving the number of Pods to an autoscaler that is new.
func (w *world) firstScaled(before, after *unstructured.Unstructured) Effect {
	const unsaid = -1
	a, isScaled := w.after.autoscalerOf(after)
	_, wasScaled := w.before.autoscalerOf(before)
	from := replicas(before)
	if !isScaled || wasScaled || from <= 1 || object.Number(after, unsaid, "spec", "replicas") != unsaid {
		return Effect{}
	}
	return Effect{Type: WorkloadScaled, What: say("%d → 1 Pod, until %s scales it to %s", from, named(a.by), a.between()), Risk: "fewer Pods run meanwhile: 1 is the default of spec.replicas"}
}

// pods are how many Pods a workload wants.
func (s side) pods(o *unstructured.Unstructured) Sentence {
	if a, ok := s.autoscalerOf(o); ok {
		return a.between()
	}
	return count(replicas(o), "Pod")
}

// startEffect is that of a workload that is added.
func (w *world) startEffect(o *unstructured.Unstructured) Effect {
	switch o.GetKind() {
	case "CronJob":
		if isSuspended(o) {
			return Effect{Type: RunSuspended, What: say("is suspended, and would run %s%s", on(o), commandOf(o))}
		}
		return Effect{Type: RunPlanned, What: say("runs %s%s", on(o), commandOf(o))}
	case "Job", "Pod":
		if replicas(o) > 0 {
			return Effect{Type: RunAtOnce, What: say("runs at once%s", commandOf(o))}
		}
	case "DaemonSet":
		return Effect{Type: WorkloadAdded, What: "starts a Pod on each node that it selects"}
	case "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet":
		return Effect{Type: WorkloadAdded, What: say("starts with %s", w.after.pods(o))}
	}
	return Effect{}
}

func isSuspended(o *unstructured.Unstructured) bool {
	suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
	return suspended
}

// on is when a CronJob runs.
func on(cronJob *unstructured.Unstructured) Sentence {
	return say("on the schedule %s", schedule(cronJob))
}

func schedule(cronJob *unstructured.Unstructured) Sentence {
	return quoted(text(cronJob, "spec", "schedule") + " " + text(cronJob, "spec", "timeZone"))
}

// cronJobEffect is what becomes of the runs of a CronJob that changes.
func (w *world) cronJobEffect(before, after *unstructured.Unstructured) Effect {
	what := w.newRollout(before, after).what
	switch {
	case isSuspended(after) && isSuspended(before):
		return Effect{}
	case isSuspended(after):
		return Effect{Type: RunSuspended, What: say("is suspended: does not run any more %s", on(before))}
	case isSuspended(before):
		return Effect{Type: RunPlanned, What: say("is resumed: runs %s%s", on(after), commandOf(after))}
	case schedule(before) != schedule(after) && what != "":
		return Effect{Type: RunPlanned, What: say("runs %s instead of %s, with %s%s", on(after), schedule(before), what, commandOf(after))}
	case schedule(before) != schedule(after):
		return Effect{Type: RunPlanned, What: say("runs %s instead of %s", on(after), schedule(before))}
	case what != "":
		return Effect{Type: RunPlanned, What: say("runs %s with %s%s", on(after), what, commandOf(after))}
	}
	return Effect{}
}

// jobEffect is what becomes of a Job that is suspended, or is not any more.
func jobEffect(before, after *unstructured.Unstructured) Effect {
	switch was, is := replicas(before), replicas(after); {
	case was > 0 && is == 0:
		return Effect{Type: RunSuspended, What: "is suspended: its Pods are stopped, unless it is done"}
	case was == 0 && is > 0:
		return Effect{Type: RunAtOnce, What: say("is resumed and runs at once%s", commandOf(after))}
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
		return Effect{Type: RunCanceled, What: say("does not run any more %s", on(o))}
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
