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
	// patience is the longest that all disturbances together may delay the start of a command.
	patience = 2 * time.Minute
	// guard is the time before the due time when a disturbed Pod may be lost: a controller that
	// hears of the disturbance later may have recorded the start already.
	guard = time.Minute
	// slack is the most that the clocks of two programs differ by.
	slack = 50 * time.Millisecond
	// largestStep is the most that the wall clock is set by.
	largestStep = 8 * time.Second
)

// expectation is the number of times that a command must have started.
type expectation string

const (
	once       expectation = "once"
	never      expectation = "never"
	atMostOnce expectation = "at most once"
)

// expect returns the expected number of starts of a version's command, given the disturbances until
// a moment. It needs starts only to find the disturbances before the first of them.
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

// mustStart reports whether a window was long enough for the command to start, and nothing disturbed
// its Pod.
func (v *version) mustStart(w window, h history, starts []start, until moment) bool {
	from := w.offered.to
	if w.held {
		from = w.resumed.to
	}
	if w.offered.to == 0 || from == 0 {
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

// disturbances returns the moments at which something happened to the Pod. When git brings a
// version back, it removed its Pod before.
func (v *version) disturbances() []moment {
	moments := slices.Clone(v.disturbs)
	for _, w := range v.windows[1:] {
		if !w.held { // a suspension leaves the Pod alone
			moments = append(moments, w.offered.from)
		}
	}
	return moments
}

// mayStart reports whether the command was allowed to start in a window.
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

// earliest returns the first moment in a window at which a controller could open the gate.
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

// isEarly reports whether the command started before any window allowed it. A Pod whose gate was
// opened a moment too early may start in time, but it was scheduled too early.
func (v *version) isEarly(s start, pod *seenPod, h history) bool {
	for _, w := range v.windows {
		earliest, ever := v.earliest(w, h)
		if !ever || s.at < earliest-slack || w.closed != 0 && s.at > w.closed+slack {
			continue
		}
		inTime := pod == nil || pod.scheduled.IsZero() || !pod.scheduled.Before(h.wall(earliest).Truncate(time.Second))
		if inTime || h.steppedBetween(earliest-largestStep, s.at) {
			return false
		}
	}
	return true
}

// runs returns the first start in each Pod: the others are restarts of its container.
func runs(starts []start) []start {
	var first []start
	for _, s := range starts {
		if !slices.ContainsFunc(first, func(f start) bool { return f.pod == s.pod }) {
			first = append(first, s)
		}
	}
	return first
}

// disagreement returns the difference of an At's status from the starts, or nothing if
// they agree.
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

// reasons returns the reasons that the condition Ready may have at the end.
func (v *version) reasons(starts []start) (reasons []string) {
	if len(starts) == 0 {
		switch {
		case v.suspend:
			reasons = append(reasons, at.ReasonSuspended)
		case v.deadline > 0:
			reasons = append(reasons, at.ReasonDeadlineMissed)
		}
		if len(v.disturbs) > 0 { // it may have been killed before it reported its start
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
