package at

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind/condition"
)

// keepStatus keeps the status, at the current generation and without a start that is taken back or an end
// that is dismissed.
func (s *snapshot) keepStatus() Decision {
	kept := s.at.Status.DeepCopy()
	kept.Run = s.run.DeepCopy()
	kept.Phase = s.phase
	kept.ObservedGeneration = s.at.Generation
	kept.Ran = s.ran
	kept.ForgottenTime = s.forgotten
	for i := range kept.Conditions {
		kept.Conditions[i].ObservedGeneration = s.at.Generation
	}
	return Decision{Status: *kept}
}

// keepEnd keeps the status of a run that ended. If Complete or Failed says how, another client cannot make
// Ready say something else.
func (s *snapshot) keepEnd() Decision {
	decision := s.keepStatus()
	conditions := s.newConditions()
	for _, c := range s.at.Status.Conditions {
		if !condition.IsOfKstatus(c.Type) {
			conditions.Add(c.Type, c.Status, c.Reason, c.Message)
		}
	}
	failed := meta.FindStatusCondition(s.at.Status.Conditions, Failed)
	complete := meta.FindStatusCondition(s.at.Status.Conditions, Complete)
	switch {
	case failed != nil && failed.Status == metav1.ConditionTrue:
		conditions.Stalled(failed.Reason, failed.Message)
	case complete != nil && complete.Status == metav1.ConditionTrue:
		conditions.Ready(complete.Reason, complete.Message)
	default: // it ran before
		return decision
	}
	decision.Status.Conditions = conditions.Sorted()
	return decision
}

// rejectSchedule stalls an At whose schedule is invalid.
func (s *snapshot) rejectSchedule() Decision {
	conditions := s.newConditions()
	conditions.Stalled(ReasonInvalidSchedule, s.at.invalid.Error())
	next := s.newStatus(cnatv1alpha1.AtPending, conditions)
	next.Run = nil
	return Decision{Status: next}
}

// rejectClaim stalls an At whose status claims in one field, which another client wrote, that the command ran.
// That may be true, so it does not run.
func (s *snapshot) rejectClaim(field string) Decision {
	conditions := s.newConditions()
	conditions.Stalled(ReasonStatusOverwritten,
		fmt.Sprintf("By status.%s the command ran, and the controller did not write "+
			"that: it does not run; to run it change spec.schedule, render, commit and sync", field))
	return Decision{Status: s.newStatus(cnatv1alpha1.AtPending, conditions)}
}

// awaitPod waits for a Pod to arm.
func (s *snapshot) awaitPod() Decision {
	if until := s.settleTime(); !until.IsZero() {
		return Decision{Status: s.at.Status, Wake: until}
	}
	reason := ReasonPodMissing
	message := "The cluster has no Pod of this At: render the environment, commit and sync"
	if newest := s.newestRendered(); newest != nil {
		if s.isCurrent(newest.digest) {
			message = fmt.Sprintf("Pod %s is being deleted: sync, once it is gone", newest.Name)
		} else {
			reason = ReasonRenderingStale
			message = fmt.Sprintf("Pod %s was rendered from another spec of this At: render the environment, commit "+
				"and sync", newest.Name)
		}
	} else if len(s.pods) > 0 {
		message += fmt.Sprintf(". Pod %s has its label but was not rendered from it, and is left alone", s.pods[0].Name)
	}
	decision := s.await(reason, message)
	decision.Status.Run = nil
	return decision
}

// awaitPrune waits until a sync has pruned all but one of several Pods of this spec. Only the sync
// knows the newest.
func (s *snapshot) awaitPrune(candidates []*TrimmedPod) Decision {
	return s.await(ReasonPodAmbiguous, fmt.Sprintf(
		"Pods %s and %s were both rendered from this spec: sync and prune, so that one is left", candidates[0].Name,
		candidates[1].Name))
}

// await waits for a sync.
func (s *snapshot) await(reason, message string) Decision {
	conditions := s.newConditions()
	s.addSuspended(conditions)
	ends := conditions.Await(Armed, reason, message, s.grace)
	return Decision{Status: s.newStatus(cnatv1alpha1.AtPending, conditions),
		Wake: status.Earliest(ends, justAfter(s.deadline()))}
}

// newestRendered returns the newest rendered Pod of any spec of the At.
func (s *snapshot) newestRendered() *TrimmedPod {
	for _, pod := range slices.Backward(s.pods) {
		if isRendered(pod, s.at) {
			return pod
		}
	}
	return nil
}

// settleTime returns until when a new At gets no status; zero if it is not new. One sync creates the At
// and then its Pod, and one write is enough. Until then observedGeneration is -1, so no tool takes the
// At for reconciled.
func (s *snapshot) settleTime() (until time.Time) {
	const longest = 2 * time.Second
	until = s.at.CreationTimestamp.Add(longest)
	if wait := until.Sub(s.now); s.at.Status.ObservedGeneration > 0 || wait <= 0 || wait > longest {
		return time.Time{}
	}
	return until
}

// holdPod arms a Pod and leaves it behind its gate.
func (s *snapshot) holdPod(pod *TrimmedPod) Decision {
	s.arm(pod)
	conditions := s.newConditions()
	var wake time.Time
	switch {
	case s.at.suspend:
		message := fmt.Sprintf("Pod %s is held until spec.suspend is false", pod.Name)
		conditions.Add(Armed, metav1.ConditionFalse, ReasonSuspended, message)
		s.addSuspended(conditions)
		conditions.Ready(ReasonSuspended, message)
		wake = justAfter(s.deadline())
	default:
		s.addArmed(conditions)
		conditions.Ready(ReasonArmed, fmt.Sprintf("Pod %s starts at %s", pod.Name, s.at.due.Format(time.RFC3339Nano)))
		wake = s.at.due.Add(-s.lead)
	}
	return Decision{Status: s.newStatus(cnatv1alpha1.AtPending, conditions), Wake: wake}
}

// claim records the start of a Pod.
func (s *snapshot) claim(pod *TrimmedPod) Decision {
	s.arm(pod)
	s.run.OpenedTime = wholeSeconds(status.Latest(s.now, s.at.due))
	decision := s.reportProgress(pod)
	decision.Claim = true
	return decision
}

// reportProgress reports a recorded start whose run has not ended.
func (s *snapshot) reportProgress(pod *TrimmedPod) Decision {
	conditions := s.newConditions()
	s.addArmed(conditions)
	conditions.Reconciling(podProgress(pod))
	return Decision{Status: s.newStatus(cnatv1alpha1.AtRunning, conditions)}
}

// open opens the gate of the Pod whose start is recorded, unless the deadline passes before. It keeps the
// report of a refusal.
func (s *snapshot) open(pod *TrimmedPod) Decision {
	s.arm(pod)
	decision := s.keepStatus()
	if condition.FindReady(s.at.Status.Conditions).Status != metav1.ConditionFalse { // another client wrote it
		decision = s.reportProgress(pod)
	}
	decision.Open = pod
	decision.Wake = justAfter(s.deadline())
	return decision
}

// recordRun records the progress of a started Pod.
func (s *snapshot) recordRun(pod *TrimmedPod) Decision {
	s.arm(pod)
	if s.run.OpenedTime == nil {
		s.run.OpenedTime = wholeSeconds(openedTime(pod, s.now))
	}
	conditions := s.newConditions()
	s.addArmed(conditions)

	ended := podOutcome(pod, s.now)
	if ended != nil {
		s.run.FinishedTime = wholeSeconds(ended.finished)
		s.run.ExitCode = ended.exitCode
	}
	switch {
	case s.run.ScheduledTime != nil && s.run.OpenedTime.Before(s.run.ScheduledTime):
		return s.fail(conditions, ReasonOpenedEarly, fmt.Sprintf(
			"Pod %s started before its time, and not by the controller: the command will not run again; to run it "+
				"change spec.schedule, render, commit and sync", pod.Name))
	case ended == nil:
		return s.reportProgress(pod)
	case ended.reason == ReasonComplete:
		conditions.Add(Complete, metav1.ConditionTrue, ended.reason, ended.message)
		conditions.Ready(ended.reason, ended.message)
		return Decision{Status: s.newStatus(cnatv1alpha1.AtDone, conditions)}
	default:
		return s.fail(conditions, ended.reason, ended.message)
	}
}

// failLost fails the run: its Pod is gone, and may have started.
func (s *snapshot) failLost() Decision {
	conditions := s.newConditions()
	s.addArmed(conditions)
	return s.fail(conditions, ReasonPodLost, fmt.Sprintf(
		"Pod %s went away before its end was seen and may have run: to run the command again change spec.schedule, "+
			"render, commit and sync", s.run.PodName))
}

// failMissed fails the run: it is too late to start it.
func (s *snapshot) failMissed() Decision {
	conditions := s.newConditions()
	s.addArmed(conditions)
	return s.fail(conditions, ReasonDeadlineMissed, fmt.Sprintf(
		"The command did not start in this cluster by %s, and will not: to run it change spec.schedule, render, "+
			"commit and sync", s.deadline().Format(time.RFC3339Nano)))
}

// failForgotten fails a run that may have happened before.
func (s *snapshot) failForgotten() Decision {
	return s.fail(s.newConditions(), ReasonMayHaveRun, fmt.Sprintf(
		"More specs of this At ran than its status can name, one of them due at %s: this one, due by then, may be "+
			"among them and does not run; to run it change spec.schedule to a later time, render, commit and sync",
		s.forgotten.UTC().Format(time.RFC3339)))
}

// fail ends the run because the command failed, or will not run.
func (s *snapshot) fail(conditions *condition.Conditions, reason, message string) Decision {
	conditions.Add(Failed, metav1.ConditionTrue, reason, message)
	conditions.Stalled(reason, message)
	return Decision{Status: s.newStatus(cnatv1alpha1.AtDone, conditions)}
}

// refuseRerun ends the run of an earlier spec that came back. Its gate stays closed.
func (s *snapshot) refuseRerun() Decision {
	conditions := s.newConditions()
	conditions.Ready(ReasonAlreadyRan,
		"This spec ran before: to run the command again change spec.schedule, render, commit and sync")
	return Decision{Status: s.newStatus(cnatv1alpha1.AtDone, conditions)}
}

// reportRefusal reports that the API server refuses to open or hold a Pod. The recorded start stays.
func (s *snapshot) reportRefusal(podName string, cause error) cnatv1alpha1.AtStatus {
	conditions := s.newConditions()
	s.addSuspended(conditions)
	s.addArmed(conditions)
	conditions.Reconciling(ReasonOpenRefused, fmt.Sprintf(
		"No write opens or holds the gate of Pod %s: look at the controller's RBAC, at admission policies and "+
			"webhooks: %v", podName, cause))
	next := s.newStatus(cnatv1alpha1.AtPending, conditions)
	next.Run = s.at.Status.Run
	return next
}

func (s *snapshot) addArmed(conditions *condition.Conditions) {
	if s.run.PodUID != "" {
		conditions.Add(Armed, metav1.ConditionTrue, ReasonArmed, fmt.Sprintf("Pod %s is the one that runs the command",
			s.run.PodName))
	}
}

func (s *snapshot) addSuspended(conditions *condition.Conditions) {
	if s.at.suspend {
		conditions.Add(Suspended, metav1.ConditionTrue, ReasonSuspended, "spec.suspend is true")
	}
}

func (s *snapshot) newStatus(phase cnatv1alpha1.AtPhase, conditions *condition.Conditions) cnatv1alpha1.AtStatus {
	if s.run.ScheduledTime == nil && !s.at.due.IsZero() {
		s.run.ScheduledTime = wholeSeconds(s.at.due)
	}
	return cnatv1alpha1.AtStatus{
		ObservedGeneration: s.at.Generation,
		Phase:              phase,
		Conditions:         conditions.Sorted(),
		Run:                &s.run,
		Ran:                s.ran,
		ForgottenTime:      s.forgotten,
	}
}

// justAfter returns the first instant after a time; zero for zero.
func justAfter(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(time.Nanosecond)
}
