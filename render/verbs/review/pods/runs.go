package pods

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
)

const runsUnasked = "it runs as soon as the change is synced"

// ReviewRun reviews Jobs and Pods, which run when they are added or resumed.
func ReviewRun(w *world.World, c diff.Change) []kind.Effect {
	switch {
	case c.After == nil:
	case c.Before == nil && replicas(c.After) > 0:
		return []kind.Effect{{Type: kind.RunAtOnce, What: "runs at once" + runs(w, c.After), Risk: runsUnasked}}
	case c.Before == nil && c.After.GetKind() == "Job":
		return []kind.Effect{{Type: kind.RunSuspended, What: "is suspended, and would run" + runs(w, c.After)}}
	case c.Before == nil:
	case replicas(c.Before) > 0 && replicas(c.After) == 0:
		return []kind.Effect{{Type: kind.RunSuspended, What: "is suspended: its Pods are stopped, unless it is done"}}
	case replicas(c.Before) == 0 && replicas(c.After) > 0:
		return []kind.Effect{{Type: kind.RunAtOnce, What: "is resumed and runs at once" + runs(w, c.After), Risk: runsUnasked}}
	}
	return nil
}

// ReviewCronJob reviews CronJobs: changes of the schedule and of the Pods.
func ReviewCronJob(w *world.World, c diff.Change) []kind.Effect {
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
		r, was := RolloutOf(w, before, after), schedule(before)
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
	e.What += runs(w, after)
	if isWhole(told) {
		e.Fields = append(e.Fields, "spec.schedule", "spec.timeZone")
	}
	return []kind.Effect{e}
}

// isWhole reports whether a sentence tells its values in full: Say marks a cut.
func isWhole(s kind.Sentence) bool { return !strings.Contains(string(s), "…") }

// ReviewCustom reviews objects of custom kinds with Pod templates. Their controllers decide when Pods start.
func ReviewCustom(w *world.World, c diff.Change) []kind.Effect {
	runs := runs(w, c.Object().Unstructured)
	switch r := RolloutOf(w, c.Before, c.After); {
	case runs == "":
	case c.After == nil:
		return []kind.Effect{reviewStop(c.Before)}
	case c.Before == nil:
		return []kind.Effect{{Type: effect.WorkloadAdded, What: "starts Pods" + runs}}
	case isPaused(c.Before) && !isPaused(c.After):
		return []kind.Effect{reviewRelease(w, r, c.After)}
	case r.Difference != "" && isPaused(c.After):
		return []kind.Effect{{Type: effect.WorkloadRolled, What: whenReplaced(c.After) + ": " + r.Difference, Fields: r.images}}
	case r.Difference != "":
		return []kind.Effect{{Type: effect.WorkloadRolled, What: "its Pods change: " + r.Difference, Fields: r.images}}
	}
	return nil
}

func isSuspended(o *unstructured.Unstructured) bool {
	suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
	return suspended
}

func schedule(cronJob *unstructured.Unstructured) kind.Sentence {
	return kind.Say("%s", world.Text(cronJob, "spec", "schedule")+" "+world.Text(cronJob, "spec", "timeZone"))
}
