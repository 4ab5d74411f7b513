package review

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind"
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/render/object"
)

// run is the one run of an At.
type run struct {
	schedule, command, image string
	due                      time.Time
	deadline                 int64 // in seconds; 0 for none
	suspended                bool
	digest                   string // of what runs, and when
	started                  bool   // as a cluster says that knows
	pod                      string
}

// runs are the commands that run, and those that do not any more.
func (w *world) runs(now time.Time) (effects []Effect) {
	for _, at := range w.changedOwners(cnatv1alpha1.KindAt) {
		before, after := newRun(w.before, at), newRun(w.after, at)
		if e, ok := runEffect(before, after, now); ok {
			e.Object = at
			effects = append(effects, e)
		}
	}
	return effects
}

// newRun is the run of an At; nil where there is none.
func newRun(s side, at Object) *run {
	o, ok := s.ats[at]
	if !ok {
		return nil
	}
	r := &run{
		schedule: text(o, "spec", "schedule"),
		command:  text(o, "spec", "command"),
		image:    text(o, "spec", "image"),
		deadline: object.Number(o, 0, "spec", "startingDeadlineSeconds"),
	}
	r.suspended, _, _ = unstructured.NestedBool(o.Object, "spec", "suspend")
	r.due, _ = kindat.Schedule(cnatv1alpha1.AtSpec{Schedule: r.schedule})
	if pod, ok := s.atPods[at]; ok {
		r.pod, r.digest = pod.GetName(), pod.GetAnnotations()[kind.DigestAnnotation]
		r.started = hasStarted(o, r.digest)
	}
	return r
}

// hasStarted says whether an At has the record of a run that was started: it does not run
// again. Only a cluster has such records.
func hasStarted(at *unstructured.Unstructured, digest string) bool {
	ran, _, _ := unstructured.NestedStringSlice(at.Object, "status", "ran")
	isPending := text(at, "status", "phase") == string(cnatv1alpha1.AtPending)
	return digest != "" && (text(at, "status", "run", "digest") == digest && !isPending || slices.Contains(ran, digest))
}

// isPast says whether the run is due, or was.
func (r *run) isPast(now time.Time) bool { return !now.Before(r.due) }

// isMissed says whether it is too late to start.
func (r *run) isMissed(now time.Time) bool {
	return r.deadline > 0 && now.After(kindat.Deadline(r.due, r.deadline))
}

// ranPresumably says whether it was due and nothing is known that kept it from running.
func (r *run) ranPresumably(now time.Time) bool { return r != nil && r.isPast(now) && !r.suspended }

// runEffect is what becomes of the run of an At. Who reviews a change knows of no cluster:
// what was due is taken to have run.
func runEffect(before, after *run, now time.Time) (e Effect, ok bool) {
	switch {
	case after == nil && before == nil:
		return Effect{}, false
	case after == nil:
		return canceled(before, now), true
	case after.started:
		return Effect{}, false
	case before != nil && before.digest == after.digest:
		return sameRun(before, after, now)
	}
	return newlyPlanned(before, after, now), true
}

// canceled is the effect of an At that is removed.
func canceled(before *run, now time.Time) Effect {
	if before.ranPresumably(now) {
		return Effect{Type: RunDone, What: say("is removed: it was due %s; if it is still running, it is stopped", quoted(before.schedule))}
	}
	return Effect{Type: RunCanceled, What: say("does not run any more %s: %s", at(before), quoted(before.command))}
}

// at is when a run was or is due.
func at(r *run) Sentence { return say("at %s", quoted(r.schedule)) }

// newlyPlanned is the effect of an At that runs something, or at a time, that it did not
// before.
func newlyPlanned(before, after *run, now time.Time) Effect {
	ran := before.ranPresumably(now)
	switch {
	case after.isMissed(now):
		return Effect{Type: RunMissed, What: say("does not run: %s", quoted(after.command)),
			Risk: say("it was to start within %s of %s: that is past", count(after.deadline, "second"), quoted(after.schedule))}
	case after.suspended:
		return Effect{Type: RunSuspended, What: say("is suspended, and would run %s: %s", at(after), quoted(after.command))}
	case after.isPast(now) && ran:
		return Effect{Type: RunAgain, What: say("runs again, at once: %s", quoted(after.command)),
			Risk: say("it was due %s and presumably ran: as it is changed, it runs once more", quoted(before.schedule))}
	case after.isPast(now):
		return Effect{Type: RunAtOnce, What: say("runs at once: %s", quoted(after.command)), Risk: say("its time is past: %s", quoted(after.schedule))}
	case ran:
		return Effect{Type: RunAgain, What: say("runs again %s: %s", at(after), quoted(after.command)), Time: &after.due,
			Risk: say("it was due %s and presumably ran", quoted(before.schedule))}
	}
	return Effect{Type: RunPlanned, What: planned(before, after), Time: &after.due}
}

// planned says when a run is due, and what is new about it.
func planned(before, after *run) Sentence {
	switch {
	case before == nil:
		return say("runs %s: %s", at(after), quoted(after.command))
	case !before.due.Equal(after.due):
		return say("runs %s instead of %s", at(after), quoted(before.schedule))
	case before.command != after.command:
		was, is := quotedBoth(before.command, after.command)
		return say("runs %s: %s instead of %s", at(after), is, was)
	case before.image != after.image:
		was, is := quotedBoth(before.image, after.image)
		if before.image == "" {
			was = defaultImage
		} else if after.image == "" {
			is = defaultImage
		}
		return say("runs %s in %s instead of %s", at(after), is, was)
	}
	return say("its waiting Pod is replaced; runs %s", at(after))
}

const defaultImage = Sentence("the default image")

// sameRun is the effect of a change of an At that runs the same at the same time.
func sameRun(before, after *run, now time.Time) (e Effect, ok bool) {
	switch {
	case before.suspended && !after.suspended:
		return resumed(before, after, now), true
	case before.suspended && after.isMissed(now) && !before.isMissed(now):
		return Effect{Type: RunMissed, What: "does not run when it is resumed", Risk: say("the starting deadline after %s is past", quoted(after.schedule))}, true
	case after.isPast(now) && !after.suspended:
		return Effect{}, false // it ran, and does not run again
	case after.suspended && !before.suspended:
		return Effect{Type: RunSuspended, What: say("is suspended: does not run %s: %s", at(after), quoted(after.command))}, !after.isPast(now)
	case before.pod != after.pod && !after.isPast(now):
		return Effect{Type: RunPlanned, What: planned(before, after), Time: &after.due}, true
	}
	return Effect{}, false
}

// resumed is the effect of an At that is suspended no more.
func resumed(before, after *run, now time.Time) Effect {
	switch {
	case before.isMissed(now) || after.isMissed(now):
		return Effect{Type: RunMissed, What: "is resumed, and does not run", Risk: say("the starting deadline after %s is past", quoted(after.schedule))}
	case after.isPast(now):
		return Effect{Type: RunAtOnce, What: say("is resumed and runs at once: %s", quoted(after.command)), Risk: say("its time is past: %s", quoted(after.schedule))}
	}
	return Effect{Type: RunPlanned, What: say("is resumed: runs %s: %s", at(after), quoted(after.command)), Time: &after.due}
}
