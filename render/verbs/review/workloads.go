package review

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verdict/podsecurity"
)

// makesPods adds the effect of new privileges to the rule of a workload.
func makesPods(review func(w *world, c diff.Change) kind.Effect) rule {
	return func(w *world, c diff.Change) []kind.Effect {
		e, more := review(w, c), privileges.review(w, c)
		isSaid := len(more) > 0 && e.Type == WorkloadRolled && e.Risk == ""
		if e.Type == "" || isSaid {
			return more
		}
		return append([]kind.Effect{e}, more...)
	}
}

// privileges are fields that give Pods access to their node.
var privileges = values{
	of: func(o *unstructured.Unstructured) []string {
		return podsecurity.PrivilegedFields(manifest.Object{Unstructured: o})
	},
	added: kind.Effect{Type: PodPrivileged, What: "sets %s", Risk: "its Pods can reach beyond their containers (Pod Security baseline forbids it)"},
}

// reviewRun reviews Jobs and Pods, which run when they are added or resumed.
func reviewRun(_ *world, c diff.Change) kind.Effect {
	switch {
	case c.After == nil:
	case c.Before == nil && replicas(c.After) > 0:
		return kind.Effect{Type: kind.RunAtOnce, What: kind.Say("runs at once%s", command(c.After))}
	case c.Before == nil:
	case replicas(c.Before) > 0 && replicas(c.After) == 0:
		return kind.Effect{Type: kind.RunSuspended, What: "is suspended: its Pods are stopped, unless it is done"}
	case replicas(c.Before) == 0 && replicas(c.After) > 0:
		return kind.Effect{Type: kind.RunAtOnce, What: kind.Say("is resumed and runs at once%s", command(c.After))}
	}
	return kind.Effect{}
}

// reviewCronJob reviews CronJobs: changes of the schedule and of the Pods.
func reviewCronJob(w *world, c diff.Change) kind.Effect {
	before, after := c.Before, c.After
	wasSuspended := before != nil && isSuspended(before)
	switch {
	case after == nil:
		return kind.Effect{Type: kind.RunCanceled, What: kind.Say("no longer runs on the schedule %s", schedule(before))}
	case isSuspended(after) && wasSuspended:
		return kind.Effect{}
	case isSuspended(after):
		return kind.Effect{Type: kind.RunSuspended, What: kind.Say("is suspended: does not run on the schedule %s%s", schedule(after), command(after))}
	}
	what := kind.Say("runs on the schedule %s", schedule(after))
	if wasSuspended {
		what = "is resumed: " + what
	}
	if before != nil {
		difference := w.rollout(before, after).Difference
		was := schedule(before)
		if !wasSuspended && was == schedule(after) && difference == "" {
			return kind.Effect{}
		}
		if was != schedule(after) {
			what += kind.Say(" instead of %s", was)
		}
		if difference != "" {
			what += " with " + difference
		}
	}
	return kind.Effect{Type: kind.RunPlanned, What: what + command(after)}
}

// reviewWorkload reviews workloads with Pods that run forever.
func reviewWorkload(w *world, c diff.Change) kind.Effect {
	switch {
	case c.After == nil:
		return reviewStop(c.Before)
	case c.Before == nil && c.After.GetKind() == "DaemonSet":
		return kind.Effect{Type: WorkloadAdded, What: "starts a Pod on each selected node"}
	case c.Before == nil:
		pods := kind.Count(replicas(c.After), "Pod")
		if a, ok := w.after.autoscalerOf(c.After); ok {
			pods = between(a)
		}
		return kind.Effect{Type: WorkloadAdded, What: "starts with " + pods}
	}
	if e := w.reviewFirstScaling(c.Before, c.After); e.Type != "" {
		return e
	}
	return reviewRollout(w.rollout(c.Before, c.After), c.After)
}

func reviewStop(o *unstructured.Unstructured) kind.Effect {
	e := kind.Effect{Type: WorkloadRemoved, What: "is removed with its Pods", Risk: "its service stops"}
	switch {
	case !hasClaims(o):
	case text(o, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted") == "Delete":
		e.Risk = "its volumes are deleted with it: their data is lost"
	default:
		e.Risk += "; its PersistentVolumeClaims stay"
	}
	return e
}

// hasClaims reports whether each Pod of a StatefulSet has volumes of its own.
func hasClaims(o *unstructured.Unstructured) bool {
	return len(items(o.Object, "spec", "volumeClaimTemplates")) > 0
}

// reviewFirstScaling returns the effect of replacing spec.replicas by a new autoscaler: the API server first
// sets replicas to its default 1.
func (w *world) reviewFirstScaling(before, after *unstructured.Unstructured) kind.Effect {
	const unset = -1
	a, isScaled := w.after.autoscalerOf(after)
	_, wasScaled := w.before.autoscalerOf(before)
	from := replicas(before)
	if !isScaled || wasScaled || from <= 1 || pod.Number(after, unset, "spec", "replicas") != unset {
		return kind.Effect{}
	}
	return kind.Effect{Type: WorkloadScaled, What: kind.Say("%d → 1 Pod, until %s scales it to %s", from, idOf(w.after.autoscalers[pod.WorkloadOf(after)]), between(a)), Risk: "fewer Pods run until then: 1 is the default of spec.replicas"}
}

// reviewRollout returns the effect of a changed workload.
func reviewRollout(r kind.Rollout, after *unstructured.Unstructured) kind.Effect {
	size := kind.Say("%d → %s", r.Before, kind.Count(r.After, "Pod"))
	var lost kind.Sentence
	if r.After < r.Before && hasClaims(after) && text(after, "spec", "persistentVolumeClaimRetentionPolicy", "whenScaled") == "Delete" {
		lost = kind.Say("the volumes of %s are deleted: their data is lost", kind.Count(r.Before-r.After, "Pod"))
	}
	switch {
	case r.Before > 0 && r.After == 0:
		return kind.Effect{Type: WorkloadScaled, What: size, Risk: "all its Pods stop"}
	case r.Replaced && text(after, "spec", "strategy", "type") == "Recreate":
		return kind.Effect{Type: WorkloadRolled, What: kind.Say("all Pods are replaced at once: %s", r.Difference), Risk: "its strategy is Recreate: no Pod runs meanwhile"}
	case r.Replaced && r.Before != r.After:
		return kind.Effect{Type: WorkloadRolled, What: kind.Say("Pods are replaced: %s; %s", r.Difference, size), Risk: lost}
	case r.Replaced:
		return kind.Effect{Type: WorkloadRolled, What: kind.Say("Pods are replaced: %s", r.Difference)}
	case r.Before != r.After:
		return kind.Effect{Type: WorkloadScaled, What: size, Risk: lost}
	}
	return kind.Effect{}
}

func isSuspended(o *unstructured.Unstructured) bool {
	suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
	return suspended
}

func schedule(cronJob *unstructured.Unstructured) kind.Sentence {
	return kind.Say("%s", text(cronJob, "spec", "schedule")+" "+text(cronJob, "spec", "timeZone"))
}

// command returns the command or image of a workload's Pods, after a colon.
func command(o *unstructured.Unstructured) kind.Sentence {
	template, ok := podsecurity.Template(manifest.Object{Unstructured: o})
	if !ok || len(template.Spec.Containers) == 0 {
		return ""
	}
	first := template.Spec.Containers[0]
	words := strings.Join(slices.Concat(first.Command, first.Args), " ")
	return kind.Say(": %s", cmp.Or(words, first.Image))
}

// replicas returns the number of Pods of a workload: the minimum of an autoscaler, if the spec has none.
func (s side) replicas(o *unstructured.Unstructured) int64 {
	if a, ok := s.autoscalerOf(o); ok && pod.Number(o, -1, "spec", "replicas") < 0 {
		return a.Min
	}
	return replicas(o)
}

// rollout returns the effect of a change of a workload on its Pods. before or after may be nil.
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
		r.Before = r.After // git does not know the live number
	}
	if before == after {
		return r
	}
	was, ok := podsecurity.Template(manifest.Object{Unstructured: before})
	is, isKnown := podsecurity.Template(manifest.Object{Unstructured: after})
	if ok && isKnown && !equality.Semantic.DeepEqual(was, is) {
		r.Replaced = replaces(after) && (r.Before > 0 || after.GetKind() == "DaemonSet")
		r.Difference = difference(was, is)
	}
	return r
}

// replaces reports whether a workload replaces Pods that differ from its template.
func replaces(o *unstructured.Unstructured) bool {
	isPaused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
	partition := pod.Number(o, 0, "spec", "updateStrategy", "rollingUpdate", "partition")
	return !isPaused && text(o, "spec", "updateStrategy", "type") != "OnDelete" && (partition == 0 || partition < replicas(o))
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

// difference describes the most notable differences of Pods.
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
