package main

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/at"
	"example.com/gatehouse/kind/condition"
)

const (
	// patience is how long whatever happens may keep a command that is due from
	// starting.
	patience = 2 * time.Minute
	// guard is how long before it is due a Pod must be left alone: a controller that only
	// hears after that time that its Pod is gone may have put its start on record.
	guard = time.Minute
	// slack is for what the clocks of two programs differ by.
	slack = 50 * time.Millisecond
	// largestStep is how far the wall clock is set at most.
	largestStep = 8 * time.Second
)

// expectation is how often a command must have started.
type expectation string

const (
	once       expectation = "once"
	never      expectation = "never"
	atMostOnce expectation = "at most once"
)

// expect says how often a version's command must have started, from what was done to it
// until a moment. starts are needed only to tell what was done before the first of them.
func (v *version) expect(h history, starts []start, until moment) expectation {
	expected := never
	for _, w := range v.windows {
		switch {
		case v.mustStart(w, h, starts, until):
			return once
		case v.mayStart(w, h):
			expected = atMostOnce
		}
	}
	return expected
}

// mustStart says whether there was time enough in a window, and nothing in the way.
func (v *version) mustStart(w window, h history, starts []start, until moment) bool {
	from := w.offered.to
	if w.held {
		from = w.resumed.to
	}
	if !w.offered.happened() || w.offered.to == 0 || from == 0 {
		return false
	}
	from = h.reaches(v.due, from)
	if w.withdrawn.happened() {
		until = min(until, w.withdrawn.from)
	}
	if v.deadline > 0 {
		until = min(until, h.reaches(v.due.Add(v.deadline-largestStep), 0))
	}
	disturbed := slices.ContainsFunc(v.disturbances(), func(d moment) bool {
		return d > from-guard && (len(starts) == 0 || d < starts[0].at)
	})
	return until-from >= patience && !disturbed
}

// disturbances are the moments at which something happened to the Pod. That git took it
// away before it brought it back is such a thing.
func (v *version) disturbances() []moment {
	moments := slices.Clone(v.disturbs)
	for _, w := range v.windows[1:] {
		if !w.held { // which leaves the Pod alone
			moments = append(moments, w.offered.from)
		}
	}
	return moments
}

// mayStart says whether there was any time in a window.
func (v *version) mayStart(w window, h history) bool {
	earliest, ever := v.earliest(w, h)
	switch {
	case !ever, w.withdrawn.to != 0 && earliest > w.withdrawn.to:
		return false
	case v.deadline > 0:
		return !h.wall(earliest).After(v.due.Add(v.deadline + largestStep))
	default:
		return true
	}
}

// earliest is the first moment in a window at which a controller could open the gate.
func (v *version) earliest(w window, h history) (_ moment, ever bool) {
	from := w.offered.from
	if w.held {
		if !w.resumed.happened() {
			return 0, false
		}
		from = w.resumed.from
	}
	return h.reaches(v.due, from), true
}

// isEarly says whether a start came before any window allowed it. A Pod whose gate was
// opened a moment too early may be scheduled before that, and start after it.
func (v *version) isEarly(s start, pod *seenPod, h history) bool {
	for _, w := range v.windows {
		earliest, ever := v.earliest(w, h)
		if !ever || s.at < earliest-slack || w.closed != 0 && s.at > w.closed+slack {
			continue
		}
		opened := pod == nil || pod.scheduled.IsZero() || !pod.scheduled.Before(h.wall(earliest).Truncate(time.Second))
		if opened || h.steppedBetween(earliest-largestStep, s.at) {
			return false
		}
	}
	return true
}

// runs are the starts of a command without the restarts of one container: one a Pod.
func runs(starts []start) []start {
	var first []start
	for _, s := range starts {
		if !slices.ContainsFunc(first, func(f start) bool { return f.pod == s.pod }) {
			first = append(first, s)
		}
	}
	return first
}

// disagreement says what the status of an At says that is not what happened; nothing
// if it says that.
func (v *version) disagreement(s cnatv1alpha1.AtStatus, starts []start) string {
	reason := condition.FindReady(s.Conditions).Reason
	allowed := v.reasons(starts)
	wantDone := reason != at.ReasonSuspended
	switch {
	case !slices.Contains(allowed, reason):
		return fmt.Sprintf("Ready says %q, not one of %q, after %d starts", reason, allowed, len(starts))
	case wantDone != (s.Phase == cnatv1alpha1.AtDone):
		return fmt.Sprintf("phase %s with reason %s", s.Phase, reason)
	case s.Run == nil:
		return "no run"
	case reason == at.ReasonPodLost && s.Run.OpenedTime == nil:
		return "PodLost, and its start was not on record"
	case reason == at.ReasonComplete && ptr.Deref(s.Run.ExitCode, -1) != 0:
		return fmt.Sprintf("exit code %d", ptr.Deref(s.Run.ExitCode, -1))
	case reason == at.ReasonCommandFailed && v.does == fails && ptr.Deref(s.Run.ExitCode, -1) != failure:
		return fmt.Sprintf("exit code %d", ptr.Deref(s.Run.ExitCode, -1))
	}
	return ""
}

// reasons are those that the condition Ready may have at the end.
func (v *version) reasons(starts []start) (reasons []string) {
	if len(starts) == 0 {
		switch {
		case v.suspend:
			reasons = append(reasons, at.ReasonSuspended)
		case v.deadline > 0:
			reasons = append(reasons, at.ReasonDeadlineMissed)
		}
		if len(v.disturbs) > 0 { // it may have been killed before it counted itself
			reasons = append(reasons, at.ReasonPodLost, at.ReasonPodFailed, at.ReasonCommandFailed)
		}
		if len(v.windows) > 1 {
			reasons = append(reasons, at.ReasonAlreadyRan)
		}
		return reasons
	}
	reasons = append(reasons, at.ReasonComplete)
	if v.does == fails {
		reasons[0] = at.ReasonCommandFailed
	}
	if starts[0].at < v.window().offered.from {
		reasons = append(reasons, at.ReasonAlreadyRan)
	}
	if slices.ContainsFunc(v.disturbances(), func(d moment) bool { return d > starts[0].at-guard }) {
		reasons = append(reasons, at.ReasonPodLost, at.ReasonPodFailed, at.ReasonCommandFailed)
	}
	return reasons
}
