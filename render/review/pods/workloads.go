package pods

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/review/effect"
)

// ReviewWorkload reviews workloads with Pods that run forever.
func ReviewWorkload(both *compare.Comparison, c compare.Change) []kind.Effect {
	if c.After == nil {
		return []kind.Effect{reviewStop(c.Before)}
	}
	r := rolloutOf(both, c.Before, c.After)
	runs, told := runs(both, c.After)
	if c.Before == nil {
		starts := "starts with " + kind.Count(r.After, "Pod")
		if c.After.GetKind() == "DaemonSet" {
			starts = "starts a Pod on each selected node"
		} else if a, ok := autoscalerOf(both.After(), c.After); ok {
			starts = "starts with " + between(a)
		}
		if isTrue(c.After, "paused") {
			starts = "is paused: when it is resumed, it " + starts
		}
		return []kind.Effect{{Type: effect.WorkloadAdded, What: starts + runs, Fields: append(r.size, told...)}}
	}
	e := reviewFirstScaling(both, c.Before, c.After)
	if e.Type == "" {
		e = reviewRollout(r, c, runs)
	}
	return []kind.Effect{e}
}

func reviewStop(o *unstructured.Unstructured) kind.Effect {
	e := kind.Effect{Type: effect.WorkloadRemoved, What: "is removed with its Pods", Risk: "its service stops"}
	switch {
	case !hasClaims(o):
	case compare.Text(o, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted") == "Delete":
		e.Risk = "its volumes are deleted with it: their data is lost"
	default:
		e.Risk += "; its PersistentVolumeClaims stay"
	}
	return e
}

// hasClaims reports whether each Pod of a StatefulSet has volumes of its own.
func hasClaims(o *unstructured.Unstructured) bool {
	claims, _, _ := unstructured.NestedSlice(o.Object, "spec", "volumeClaimTemplates")
	return len(claims) > 0
}

// reviewFirstScaling returns the effect of replacing spec.replicas by a new autoscaler: the API server first
// sets replicas to its default 1.
func reviewFirstScaling(both *compare.Comparison, before, after *unstructured.Unstructured) kind.Effect {
	const unset = -1
	a, isScaled := autoscalerOf(both.After(), after)
	_, wasScaled := autoscalerOf(both.Before(), before)
	from := replicas(before)
	if !isScaled || wasScaled || from <= 1 || pod.Number(after, unset, "spec", "replicas") != unset {
		return kind.Effect{}
	}
	return kind.Effect{Type: effect.WorkloadScaled,
		What: kind.Say("%d → 1 Pod, until %s scales it to %s", from,
			compare.IDOf(both.After().Autoscalers[pod.WorkloadOf(after)]), between(a)),
		Risk: "fewer Pods run until then: 1 is the default of spec.replicas"}
}

func reviewRollout(r rollout, c compare.Change, runs kind.Sentence) (e kind.Effect) {
	isResized := r.Before != r.After
	hasPods := r.Before > 0 || c.After.GetKind() == "DaemonSet"
	size := kind.Say("%d → %s", r.Before, kind.Count(r.After, "Pod"))
	lost := lostVolumes(r, c.After)
	was, _ := whenReplaced(c.Before)
	is, when := whenReplaced(c.After)
	switch {
	case r.Before > 0 && r.After == 0:
		return kind.Effect{Type: effect.WorkloadScaled, What: size, Risk: "all its Pods stop", Fields: r.size}
	case isResized && !hasPods:
		return kind.Effect{Type: effect.WorkloadScaled, What: size + runs, Fields: r.size}
	case hasPods && is < was:
		e = reviewRelease(r, runs)
	case r.Replaced && compare.Text(c.After, "spec", "strategy", "type") == "Recreate":
		return kind.Effect{Type: effect.WorkloadRolled, Fields: r.told,
			What: "all Pods are replaced at once, as its strategy is Recreate" + r.after(": ")}
	case hasPods && r.Difference != "":
		e = kind.Effect{Type: effect.WorkloadRolled, What: when + r.after(": "), Risk: lost, Fields: r.told}
	case isResized:
		return kind.Effect{Type: effect.WorkloadScaled, What: size, Risk: lost, Fields: r.size}
	}
	if isResized && e.Type != "" {
		e.What += "; " + size
		e.Fields = slices.Concat(e.Fields, r.size)
	}
	return e
}

// lostVolumes returns the risk of a StatefulSet that deletes the volumes of fewer Pods.
func lostVolumes(r rollout, after *unstructured.Unstructured) kind.Sentence {
	if r.After >= r.Before || !hasClaims(after) ||
		compare.Text(after, "spec", "persistentVolumeClaimRetentionPolicy", "whenScaled") != "Delete" {
		return ""
	}
	return kind.Say("the volumes of %s are deleted: their data is lost", kind.Count(r.Before-r.After, "Pod"))
}

// reviewRelease returns the effect of a workload that replaces Pods again.
func reviewRelease(r rollout, runs kind.Sentence) kind.Effect {
	const risk = "earlier changes may have waited: the difference from the running Pods is unknown"
	return kind.Effect{Type: effect.WorkloadRolled, What: "is resumed: rolls out its Pods" + runs + r.after("; "),
		Fields: r.told, Risk: risk}
}

func autoscalerOf(s *compare.Side, o *unstructured.Unstructured) (pod.Autoscaler, bool) {
	scaler := s.Autoscalers[pod.WorkloadOf(o)]
	if scaler == nil || pod.Number(o, 1, "spec", "replicas") <= 0 {
		return pod.Autoscaler{}, false
	}
	return pod.ReadAutoscaler(scaler)
}

func between(a pod.Autoscaler) kind.Sentence {
	return kind.Say("%d to %s", a.Min, kind.Count(a.Max, "Pod"))
}

const runsUnasked = "it runs as soon as the change is synced"

// ReviewRun reviews Jobs and Pods, which run when they are added or resumed.
func ReviewRun(both *compare.Comparison, c compare.Change) []kind.Effect {
	runs, told := runs(both, c.After)
	risk := kind.Sentence(runsUnasked)
	isAgain := delivery.RunsAgain(c.After)
	if isAgain {
		risk += "; " + runsAgain
	}
	switch {
	case c.After == nil:
	case c.Before == nil && replicas(c.After) > 0:
		return []kind.Effect{{Type: kind.RunAtOnce, What: "runs at once" + runs, Risk: risk, Fields: told}}
	case delivery.RunsAgain(c.Before):
		return reviewNextRun(c, runs)
	case c.Before != nil && isAgain && replicas(c.Before) > 0:
		return []kind.Effect{{Type: kind.RunAtOnce, What: "changes " + effect.SayChangeOf(c.Fields(), ttl),
			Risk: runsAgain, Fields: []string{ttl}}}
	case c.Before == nil && c.After.GetKind() == "Job":
		return []kind.Effect{{Type: kind.RunSuspended, What: "is suspended, and would run" + runs, Fields: told}}
	case c.Before == nil:
	case replicas(c.Before) > 0 && replicas(c.After) == 0:
		return []kind.Effect{{Type: kind.RunSuspended, What: "is suspended: its Pods are stopped, unless it is done"}}
	case replicas(c.Before) == 0 && replicas(c.After) > 0:
		return []kind.Effect{{Type: kind.RunAtOnce, What: "is resumed and runs at once" + runs, Risk: risk}}
	}
	return nil
}

// ttl is the field of a Job that lets the cluster delete it when it has ended.
const ttl = "spec.ttlSecondsAfterFinished"

const runsAgain = "it runs again at each sync after its end: " + ttl +
	" deletes it, and Flux and Argo CD create it again"

// reviewNextRun returns the effect of a change of a Job that a sync creates again after its end. A Job that has not
// ended keeps its Pods.
func reviewNextRun(c compare.Change, runs kind.Sentence) []kind.Effect {
	if replicas(c.After) == 0 {
		return []kind.Effect{{Type: kind.RunSuspended, What: "is suspended: its Pods are stopped, unless it is done"}}
	}
	fields := slices.DeleteFunc(c.Fields(), func(f compare.FieldChange) bool { return !f.IsIn("spec") })
	if len(fields) == 0 {
		return nil
	}
	e := effect.OfFields(c, fields, nil)
	e.Type = kind.RunAtOnce
	e.What = "runs at once" + runs + "; " + e.What
	e.Risk = runsUnasked + ", or, if it runs then, as soon as its end lets the cluster delete it"
	if delivery.RunsAgain(c.After) {
		e.Risk += "; " + runsAgain
	}
	return []kind.Effect{e}
}

// ReviewCronJob reviews CronJobs: their schedules, and other Pods.
func ReviewCronJob(both *compare.Comparison, c compare.Change) []kind.Effect {
	switch r := rolloutOf(both, c.Before, c.After); {
	case c.After == nil:
		return []kind.Effect{{Type: kind.RunCanceled,
			What: kind.Say("no longer runs on the schedule %s", schedule(c.Before)),
			Risk: "its work is no longer done"}}
	case c.Before != nil && r.Difference == "":
		return nil
	case c.Before != nil:
		return []kind.Effect{{Type: kind.RunPlanned, What: "its next runs differ" + r.after(": "), Fields: r.told}}
	}
	e := kind.Effect{Type: kind.RunPlanned, What: kind.Say("runs on the schedule %s", schedule(c.After))}
	if isTrue(c.After, "suspend") {
		e.Type = kind.RunSuspended
		e.What = kind.Say("is suspended: does not run on the schedule %s", schedule(c.After))
	}
	runs, told := runs(both, c.After)
	e.What += runs
	e.Fields = slices.Concat(told, []string{"spec.schedule", "spec.timeZone"})
	return []kind.Effect{e}
}

// ReviewCustom reviews objects of custom kinds with Pod templates. Their controllers decide when Pods start.
func ReviewCustom(both *compare.Comparison, c compare.Change) []kind.Effect {
	runs, told := runs(both, c.Object().Unstructured)
	switch r := rolloutOf(both, c.Before, c.After); {
	case runs == "":
	case c.After == nil:
		return []kind.Effect{reviewStop(c.Before)}
	case c.Before == nil:
		return []kind.Effect{{Type: effect.WorkloadAdded, What: "starts Pods" + runs, Fields: told}}
	case isTrue(c.Before, "paused") && !isTrue(c.After, "paused"):
		return []kind.Effect{reviewRelease(r, runs)}
	case r.Difference != "":
		when := kind.Sentence("its Pods change")
		if isTrue(c.After, "paused") {
			_, when = whenReplaced(c.After)
		}
		return []kind.Effect{{Type: effect.WorkloadRolled, What: when + r.after(": "), Fields: r.told}}
	}
	return nil
}

func schedule(cronJob *unstructured.Unstructured) kind.Sentence {
	return kind.Say("%s", compare.Text(cronJob, "spec", "schedule")+" "+compare.Text(cronJob, "spec", "timeZone"))
}
