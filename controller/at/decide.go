package at

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/condition"
	"example.com/gatehouse/kind/registry"
)

// Decision is the result of one snapshot of an At and its Pods. Its writes happen in the order of its
// fields, each only after the previous one succeeded.
type Decision struct {
	// Hold is a Pod whose recorded start must no longer happen.
	Hold *TrimmedPod
	// Status is the next status of the At.
	Status cnatv1alpha1.AtStatus
	// Claim reports whether Status records the start of a Pod.
	Claim bool
	// Open is the Pod whose recorded start is to happen at Due.
	Open *TrimmedPod

	// Due is the instant of the schedule.
	Due time.Time
	// Wake is when to decide again without an event; zero for never.
	Wake time.Time
}

// moment is the time of a decision, with its periods.
type moment struct {
	now time.Time
	// grace is how long a Pod may be missing before an At is stalled.
	grace time.Duration
	// lead is how early the start of an At is recorded.
	lead time.Duration
}

// decide takes the next step in the life of an At: arm, record, open. A run is one digest. It starts at
// most once, because
//
//   - a gate opens only after the API server stored a status that names the Pod by its UID, and that
//     was written at the version of the At in this snapshot;
//   - another Pod is armed only while no start is recorded;
//   - a recorded start is taken back only after the Pod got another resourceVersion behind its closed
//     gate, so that every in-flight request to open it conflicts (see Server).
//
// None of this depends on the memory of a process or the age of its cache.
func decide(at *TrimmedAt, pods []*TrimmedPod, m moment) Decision {
	s := newSnapshot(at, pods, m)
	s.dismissFalseEnd()

	started := s.startedPod()
	held := s.heldPod(started)
	s.forgetOrRemember(held)

	decision := s.next(started)
	decision.Hold = held
	decision.Due = at.due
	return decision
}

// next takes the next step of the current spec's run.
func (s *snapshot) next(started *TrimmedPod) Decision {
	candidates := s.candidates()
	unproven := s.unprovenField()
	switch {
	case s.hasEnded(started):
		return s.keepEnd()
	case started != nil:
		return s.recordRun(started)
	case unproven != "":
		return s.rejectClaim(unproven)
	case s.ranBefore():
		return s.refuseRerun()
	case s.mayHaveStarted() && s.runPod() == nil:
		return s.failLost()
	case s.at.invalid != nil:
		return s.rejectSchedule()
	case !isClaimed(s.run) && s.isForgotten():
		return s.failForgotten()
	case s.deadlinePassed():
		return s.failMissed()
	case isClaimed(s.run):
		return s.open(s.runPod())
	case len(candidates) == 0:
		return s.awaitPod()
	case len(candidates) > 1:
		return s.awaitPrune(candidates)
	case s.at.suspend || s.now.Before(s.at.due.Add(-s.lead)):
		return s.holdPod(candidates[0])
	default:
		return s.claim(candidates[0])
	}
}

// snapshot is the input of a decision.
type snapshot struct {
	moment

	at   *TrimmedAt
	pods []*TrimmedPod // oldest first

	// run and phase belong to the current spec. They are new if the status belongs to another spec.
	run   cnatv1alpha1.AtRun
	phase cnatv1alpha1.AtPhase

	// ran names the earlier specs that may have started; forgotten bounds those it no longer names.
	ran       []string
	forgotten *metav1.Time
}

func newSnapshot(at *TrimmedAt, pods []*TrimmedPod, m moment) *snapshot {
	s := &snapshot{
		moment: m, at: at, pods: slices.Clone(pods), phase: cnatv1alpha1.AtPending,
		ran: at.Status.Ran, forgotten: at.Status.ForgottenTime,
	}
	// Two controllers that see the same Pods choose the same one.
	slices.SortFunc(s.pods, func(a, b *TrimmedPod) int {
		if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		return cmp.Compare(a.Name, b.Name)
	})
	s.run.Digest = at.digests[0]
	if last := at.Status.Run; last != nil && s.isCurrent(last.Digest) {
		s.run = *last.DeepCopy()
		s.phase = at.Status.Phase
	}
	return s
}

// dismissFalseEnd dismisses an end of the run that the controller did not record: the command of a Pod that
// waits or runs has not ended, and a recorded end has conditions that say how the run ended.
func (s *snapshot) dismissFalseEnd() {
	if pod := s.runPod(); pod != nil && isUnfinished(pod) {
		s.run.FinishedTime = nil
		s.run.ExitCode = nil
	}
	isEnd := s.explainsEnd()
	switch {
	case isEnd && s.run.FinishedTime != nil:
		s.phase = cnatv1alpha1.AtDone
	case !isEnd && s.phase == cnatv1alpha1.AtDone && isClaimed(s.run):
		s.phase = cnatv1alpha1.AtRunning
	case !isEnd && s.phase == cnatv1alpha1.AtDone:
		s.phase = cnatv1alpha1.AtPending
	}
}

// explainsEnd reports whether the conditions of the At say how the run ended.
func (s *snapshot) explainsEnd() bool {
	conditions := s.at.Status.Conditions
	isAlreadyRan := condition.FindReady(conditions).Reason == ReasonAlreadyRan && s.ranBefore() && !s.isRanForeign()
	return isAlreadyRan || meta.IsStatusConditionTrue(conditions, Failed) ||
		meta.IsStatusConditionTrue(conditions, Complete) && s.run.FinishedTime != nil
}

// hasEnded reports whether the run ended. A Pod that started meanwhile counts until the end of the command is known.
func (s *snapshot) hasEnded(started *TrimmedPod) bool {
	return s.phase == cnatv1alpha1.AtDone && (started == nil || s.run.FinishedTime != nil)
}

// unprovenField returns the field of the status by which the command ran, if another client wrote that; otherwise
// nothing.
func (s *snapshot) unprovenField() string {
	switch {
	case s.run.FinishedTime != nil: // dismissFalseEnd kept it, and no condition says how the run ended
		return "run.finishedTime"
	case s.ranBefore() && s.isRanForeign():
		return "ran"
	default:
		return ""
	}
}

// isUnfinished reports whether a Pod shows that its command has not ended.
func isUnfinished(pod *TrimmedPod) bool { return pod.isGated() || podOutcome(pod, time.Time{}) == nil }

// isCurrent reports whether a digest, or an entry of ran, belongs to the current spec.
func (s *snapshot) isCurrent(digest string) bool {
	return slices.Contains(s.at.digests, digestOf(digest))
}

// isClaimed reports whether a start is recorded. Its Pod may have been opened.
func isClaimed(run cnatv1alpha1.AtRun) bool { return run.OpenedTime != nil }

// mayHaveStarted reports whether the run of the current spec may have started. A status that is older
// than its At is from a backup, and lacks later records. Both times are in whole seconds.
func (s *snapshot) mayHaveStarted() bool {
	armed := meta.FindStatusCondition(s.at.Status.Conditions, Armed)
	isRestored := armed != nil && armed.LastTransitionTime.Add(2*time.Second).Before(s.at.CreationTimestamp.Time)
	return isClaimed(s.run) || isRestored && s.run.PodUID != "" && !s.now.Before(s.at.due)
}

// startedPod returns the Pod that runs or ran the command, or nil. Without an armed Pod it is any
// open Pod of this spec: an At that was deleted and created again finds its Pod.
func (s *snapshot) startedPod() *TrimmedPod {
	pod := s.runPod()
	switch {
	case pod != nil && !pod.isGated():
		return pod
	case s.phase == cnatv1alpha1.AtDone, isClaimed(s.run) && pod == nil:
		return nil
	}
	for _, pod := range s.pods {
		if isRendered(pod, s.at) && s.isCurrent(pod.digest) && !pod.isGated() {
			return pod
		}
	}
	return nil
}

// heldPod returns the Pod whose recorded start has not happened and must no longer happen, or nil.
func (s *snapshot) heldPod(started *TrimmedPod) *TrimmedPod {
	last := s.at.Status.Run
	if last == nil || !isClaimed(*last) {
		return nil
	}
	pod := s.findPod(last.PodUID)
	if pod == nil || !pod.isGated() {
		return nil
	}
	isWanted := s.isCurrent(last.Digest) && !s.ranBefore() && s.phase != cnatv1alpha1.AtDone && started == nil &&
		!s.at.suspend && !s.deadlinePassed() && pod.DeletionTimestamp == nil &&
		!last.OpenedTime.Before(wholeSeconds(s.at.due)) // another client wrote an earlier time
	if isWanted {
		return nil
	}
	return pod
}

// forgetOrRemember takes back the start of the held Pod, and remembers every other spec that may have
// started. A finished run stays finished: another Pod may have run it.
func (s *snapshot) forgetOrRemember(held *TrimmedPod) {
	if held != nil && held.UID == s.run.PodUID {
		s.run.OpenedTime = nil
		if s.phase != cnatv1alpha1.AtDone {
			s.phase = cnatv1alpha1.AtPending
		}
	}
	if last := s.at.Status.Run; last != nil && !s.isCurrent(last.Digest) && held == nil && mayHaveRun(s.at.Status) {
		s.remember(last.Digest, ptr.Deref(last.ScheduledTime, metav1.NewTime(s.now)).Time)
	}
	for _, pod := range s.pods {
		isOfRun := s.isCurrent(pod.digest) && (s.phase != cnatv1alpha1.AtDone || isClaimed(s.run))
		isOnRecord := isOfRun || s.hasRan(pod.digest)
		// The creator of a Pod may annotate it with any text.
		if isRendered(pod, s.at) && !pod.isGated() && registry.IsDigest(pod.digest) && !isOnRecord {
			s.remember(pod.digest, s.now)
		}
	}
}

// mayHaveRun reports whether a status of an earlier spec belongs to a run that may have started.
func mayHaveRun(status cnatv1alpha1.AtStatus) bool {
	return isClaimed(*status.Run) ||
		status.Phase != cnatv1alpha1.AtPending && condition.FindReady(status.Conditions).Reason != ReasonDeadlineMissed
}

// candidates returns the Pods that may be armed.
func (s *snapshot) candidates() (candidates []*TrimmedPod) {
	for _, pod := range s.pods {
		if isRendered(pod, s.at) && s.isCurrent(pod.digest) && pod.isGated() && pod.DeletionTimestamp == nil {
			candidates = append(candidates, pod)
		}
	}
	return candidates
}

// runPod returns the armed Pod, or nil. A status may name any Pod, so its digest has to be the current
// spec's.
func (s *snapshot) runPod() *TrimmedPod {
	pod := s.findPod(s.run.PodUID)
	if pod == nil || !s.isCurrent(pod.digest) {
		return nil
	}
	return pod
}

// findPod returns the rendered Pod with a UID, or nil.
func (s *snapshot) findPod(uid types.UID) *TrimmedPod {
	for _, pod := range s.pods {
		if pod.UID == uid && isRendered(pod, s.at) {
			return pod
		}
	}
	return nil
}

// isRendered reports whether a Pod looks like a rendered Pod of an At. The label alone would admit the
// Pods of a Deployment or a Job whose template has it. Such a Pod has an owner, and an orphan keeps its
// generateName.
func isRendered(pod *TrimmedPod, at *TrimmedAt) bool {
	return pod.at == at.Name && len(pod.OwnerReferences) == 0 && pod.GenerateName == "" &&
		registry.IsHashName(pod.Name, at.Name)
}

// deadline returns the last instant at which the command may start; zero for none.
func (s *snapshot) deadline() time.Time {
	if s.at.startingDeadlineSeconds == nil {
		return time.Time{}
	}
	return kindat.Deadline(s.at.due, *s.at.startingDeadlineSeconds)
}

func (s *snapshot) deadlinePassed() bool {
	deadline := s.deadline()
	return !deadline.IsZero() && s.now.After(deadline)
}

// arm starts the run of a Pod.
func (s *snapshot) arm(pod *TrimmedPod) {
	if s.run.PodUID != pod.UID {
		s.run = cnatv1alpha1.AtRun{Digest: s.run.Digest, PodUID: pod.UID}
	}
	s.run.PodName = pod.Name
	s.run.ScheduledTime = wholeSeconds(s.at.due)
}

// wholeSeconds returns a time as the API server stores it.
func wholeSeconds(t time.Time) *metav1.Time {
	return ptr.To(metav1.NewTime(t.Truncate(time.Second)))
}

func (s *snapshot) newConditions() *condition.Conditions {
	return condition.New(s.at.Status.Conditions, s.at.Generation, s.now)
}
