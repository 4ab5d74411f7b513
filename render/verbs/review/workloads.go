package review

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verdict/podsecurity"
)

const runsUnasked = "it runs as soon as the change is synced"

// reviewRun reviews Jobs and Pods, which run when they are added or resumed.
func reviewRun(w *world, c diff.Change) []kind.Effect {
	switch {
	case c.After == nil:
	case c.Before == nil && replicas(c.After) > 0:
		return []kind.Effect{{Type: kind.RunAtOnce, What: "runs at once" + w.runs(c.After), Risk: runsUnasked}}
	case c.Before == nil && c.After.GetKind() == "Job":
		return []kind.Effect{{Type: kind.RunSuspended, What: "is suspended, and would run" + w.runs(c.After)}}
	case c.Before == nil:
	case replicas(c.Before) > 0 && replicas(c.After) == 0:
		return []kind.Effect{{Type: kind.RunSuspended, What: "is suspended: its Pods are stopped, unless it is done"}}
	case replicas(c.Before) == 0 && replicas(c.After) > 0:
		return []kind.Effect{{Type: kind.RunAtOnce, What: "is resumed and runs at once" + w.runs(c.After), Risk: runsUnasked}}
	}
	return nil
}

// reviewCronJob reviews CronJobs: changes of the schedule and of the Pods.
func reviewCronJob(w *world, c diff.Change) []kind.Effect {
	before, after := c.Before, c.After
	wasSuspended := before != nil && isSuspended(before)
	e := kind.Effect{Type: kind.RunPlanned}
	switch {
	case after == nil:
		return []kind.Effect{{Type: kind.RunCanceled, What: kind.Say("no longer runs on the schedule %s", schedule(before))}}
	case isSuspended(after) && wasSuspended:
		return nil
	case isSuspended(after):
		e.Type, e.What = kind.RunSuspended, kind.Say("is suspended: does not run on the schedule %s", schedule(after))
	default:
		e.What = kind.Say("runs on the schedule %s", schedule(after))
	}
	if wasSuspended {
		e.What = "is resumed: " + e.What
	}
	told := schedule(after)
	if before != nil {
		r, was := w.rollout(before, after), schedule(before)
		if wasSuspended == isSuspended(after) && was == schedule(after) && r.Difference == "" {
			return nil
		}
		if was != schedule(after) {
			told += was
			e.What += kind.Say(" instead of %s", was)
		}
		if r.Difference != "" {
			e.What, e.Fields = e.What+" with "+r.Difference, r.images
		}
	}
	e.What += w.runs(after)
	if isWhole(told) {
		e.Fields = append(e.Fields, "spec.schedule", "spec.timeZone")
	}
	return []kind.Effect{e}
}

// isWhole reports whether a sentence tells its values in full: Say marks a cut.
func isWhole(s kind.Sentence) bool { return !strings.Contains(string(s), "…") }

// reviewWorkload reviews workloads with Pods that run forever.
func reviewWorkload(w *world, c diff.Change) []kind.Effect {
	if c.After == nil {
		return []kind.Effect{reviewStop(c.Before)}
	}
	r := w.rollout(c.Before, c.After)
	if c.Before == nil {
		starts := "starts with " + kind.Count(r.After, "Pod")
		if c.After.GetKind() == "DaemonSet" {
			starts = "starts a Pod on each selected node"
		} else if a, ok := w.after.autoscalerOf(c.After); ok {
			starts = "starts with " + between(a)
		}
		if isPaused(c.After) {
			starts = "is paused: when it is resumed, it " + starts
		}
		return []kind.Effect{{Type: WorkloadAdded, What: starts + w.runs(c.After), Fields: r.size}}
	}
	e := w.reviewFirstScaling(c.Before, c.After)
	if e.Type == "" {
		e = w.reviewRollout(r, c)
	}
	if e.Type == "" {
		return nil
	}
	return []kind.Effect{e}
}

// reviewCustom reviews objects of custom kinds with Pod templates. Their controllers decide when Pods start.
func reviewCustom(w *world, c diff.Change) []kind.Effect {
	runs := w.runs(c.Object().Unstructured)
	switch r := w.rollout(c.Before, c.After); {
	case runs == "":
	case c.After == nil:
		return []kind.Effect{reviewStop(c.Before)}
	case c.Before == nil:
		return []kind.Effect{{Type: WorkloadAdded, What: "starts Pods" + runs}}
	case isPaused(c.Before) && !isPaused(c.After):
		return []kind.Effect{w.reviewRelease(r, c.After)}
	case r.Difference != "" && isPaused(c.After):
		return []kind.Effect{{Type: WorkloadRolled, What: whenReplaced(c.After) + ": " + r.Difference, Fields: r.images}}
	case r.Difference != "":
		return []kind.Effect{{Type: WorkloadRolled, What: "its Pods change: " + r.Difference, Fields: r.images}}
	}
	return nil
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
func (w *world) reviewRollout(r rollout, c diff.Change) (e kind.Effect) {
	isResized, hasPods := r.Before != r.After, r.Before > 0 || c.After.GetKind() == "DaemonSet"
	size, lost := kind.Say("%d → %s", r.Before, kind.Count(r.After, "Pod")), lostVolumes(r, c.After)
	switch {
	case r.Before > 0 && r.After == 0:
		return kind.Effect{Type: WorkloadScaled, What: size, Risk: "all its Pods stop", Fields: r.size}
	case isResized && !hasPods:
		return kind.Effect{Type: WorkloadScaled, What: size + w.runs(c.After), Fields: r.size}
	case hasPods && held(c.After) < held(c.Before):
		e = w.reviewRelease(r, c.After)
	case r.Replaced && text(c.After, "spec", "strategy", "type") == "Recreate":
		return kind.Effect{Type: WorkloadRolled, What: "all Pods are replaced at once: " + r.Difference, Risk: "its strategy is Recreate: no Pod runs meanwhile", Fields: r.images}
	case hasPods && r.Difference != "":
		e = kind.Effect{Type: WorkloadRolled, What: whenReplaced(c.After) + ": " + r.Difference, Risk: lost, Fields: r.images}
	case isResized:
		return kind.Effect{Type: WorkloadScaled, What: size, Risk: lost, Fields: r.size}
	}
	if isResized && e.Type != "" {
		e.What, e.Fields = e.What+"; "+size, slices.Concat(e.Fields, r.size)
	}
	return e
}

// lostVolumes returns the risk of a StatefulSet that deletes the volumes of fewer Pods.
func lostVolumes(r rollout, after *unstructured.Unstructured) kind.Sentence {
	if r.After >= r.Before || !hasClaims(after) || text(after, "spec", "persistentVolumeClaimRetentionPolicy", "whenScaled") != "Delete" {
		return ""
	}
	return kind.Say("the volumes of %s are deleted: their data is lost", kind.Count(r.Before-r.After, "Pod"))
}

// reviewRelease returns the effect of a workload that replaces Pods again.
func (w *world) reviewRelease(r rollout, after *unstructured.Unstructured) kind.Effect {
	e := kind.Effect{Type: WorkloadRolled, What: "is resumed: rolls out its Pods", Fields: r.images}
	if r.Difference != "" {
		e.What += " with " + r.Difference
	}
	e.What += w.runs(after)
	e.Risk = "earlier changes may have waited: the difference from the running Pods is unknown"
	return e
}

func isSuspended(o *unstructured.Unstructured) bool {
	suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
	return suspended
}

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
	if isPaused(o) || isReplicaSet(o) || text(o, "spec", "updateStrategy", "type") == "OnDelete" {
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
	case text(o, "spec", "updateStrategy", "type") == "OnDelete":
		return "each Pod is replaced when it is deleted"
	case number == max(replicas(o), 1):
		return kind.Say("Pods are replaced when the partition of its update is below %d", number)
	case number > 0:
		return kind.Say("Pods from number %d are replaced", number)
	}
	return "Pods are replaced"
}

func schedule(cronJob *unstructured.Unstructured) kind.Sentence {
	return kind.Say("%s", text(cronJob, "spec", "schedule")+" "+text(cronJob, "spec", "timeZone"))
}

// replicas returns the number of Pods of a workload: the minimum of an autoscaler, if the spec has none.
func (s side) replicas(o *unstructured.Unstructured) int64 {
	if a, ok := s.autoscalerOf(o); ok && pod.Number(o, -1, "spec", "replicas") < 0 {
		return a.Min
	}
	return replicas(o)
}

// rollout is the effect of a change of a workload on its Pods.
type rollout struct {
	kind.Rollout
	images, size []string // fields that the difference and the numbers tell in full
}

// rollout returns the effect of a change of a workload on its Pods. before or after may be nil.
func (w *world) rollout(before, after *unstructured.Unstructured) (r rollout) {
	const unset = -1
	written := func(o *unstructured.Unstructured) int64 { return pod.Number(o, unset, "spec", "replicas") }
	if before != nil {
		r.Before = w.before.replicas(before)
	}
	if after != nil {
		r.After = w.after.replicas(after)
	}
	if after != nil && r.After == written(after) && (before == nil || r.Before == written(before)) {
		r.size = []string{"spec.replicas"}
	}
	if before == nil || after == nil {
		return r
	}
	_, wasScaled := w.before.autoscalerOf(before)
	if _, isScaled := w.after.autoscalerOf(after); isScaled && wasScaled {
		r.Before = r.After // git does not know the live number
	}
	if before != after {
		w.compareTemplates(&r, before, after)
	}
	return r
}

// compareTemplates adds the difference of the templates to a rollout.
func (w *world) compareTemplates(r *rollout, before, after *unstructured.Unstructured) {
	var said []kind.Sentence
	was := w.templates(before)
	for i, is := range w.templates(after) {
		if i < len(was) && was[i].Field == is.Field && !equality.Semantic.DeepEqual(was[i].PodTemplateSpec, is.PodTemplateSpec) {
			more, told := difference(was[i], is)
			said, r.images = append(said, more...), append(r.images, told...)
		}
	}
	if len(said) > maxListed {
		r.images = nil
	}
	r.Difference = list(said)
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
