package at

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind"
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/condition"
	"example.com/gatehouse/kind/registry"
)

// Decision is what one snapshot of an At and its Pods calls for: one write at
// most, and when to look again.
type Decision struct {
	// Open is the Pod whose gate is to be opened now. If there is one, Status is
	// left as it is.
	Open *corev1.Pod
	// Status is what the status of the At is to say.
	Status cnatv1alpha1.AtStatus
	// Due is the instant of the schedule.
	Due time.Time
	// Wake is when to decide again although nothing changes; zero for never.
	Wake time.Time
}

// decide is the life of an At: arm, open, record. A run is one digest, and
// whatever dies when, it starts at most once, because
//
//   - only the Pod whose UID the API server holds in the status is opened, and
//     that UID is replaced only when its Pod is gone and was never opened;
//   - what may have started is never taken for what has not;
//   - both writes fail unless the server holds what the snapshot shows (see
//     Server), so a stale cache or a second controller cannot undo the first two.
func decide(at *cnatv1alpha1.At, pods []corev1.Pod, now time.Time, grace time.Duration) Decision {
	s := newSnapshot(at, pods, now)
	due, err := kindat.Schedule(at.Spec)
	s.due = due

	switch started, waiting := s.startedPod(), s.waitingPod(); {
	case s.run.FinishedTime != nil:
		return s.keepStatus()
	case started != nil:
		return s.recordRun(started)
	case s.phase == cnatv1alpha1.AtDone:
		return s.keepStatus()
	case slices.ContainsFunc(s.ran, s.isCurrent):
		return s.refuseRerun()
	case !s.hasPod(s.run) && s.mayHaveStarted(s.run, s.phase):
		return s.failLost()
	case s.phase == cnatv1alpha1.AtRunning:
		return s.keepStatus() // the status is ahead of the Pod in the cache
	case err != nil:
		return s.rejectSchedule(err)
	case s.deadlinePassed():
		return s.failMissed()
	case waiting == nil:
		return s.awaitPod(grace)
	case waiting.UID != s.run.PodUID || now.Before(due) || at.Spec.Suspend || s.saysSuspended():
		return s.holdPod(waiting)
	case waiting.DeletionTimestamp != nil:
		return s.keepStatus()
	default:
		return Decision{Open: waiting, Status: at.Status, Due: due}
	}
}

// snapshot is what a decision is made from.
type snapshot struct {
	at   *cnatv1alpha1.At
	pods []corev1.Pod // oldest first
	now  time.Time
	due  time.Time

	// digests are those that the current spec is known by.
	digests []string

	// run and phase are those of the current spec: at their start where the status
	// is of another.
	run   cnatv1alpha1.AtRun
	phase cnatv1alpha1.AtPhase
	ran   []string
}

func newSnapshot(at *cnatv1alpha1.At, pods []corev1.Pod, now time.Time) *snapshot {
	s := &snapshot{at: at, pods: slices.Clone(pods), now: now, phase: cnatv1alpha1.AtPending, ran: at.Status.Ran}
	// Two controllers that see the same Pods choose the same one.
	slices.SortFunc(s.pods, func(a, b corev1.Pod) int {
		if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		return cmp.Compare(a.Name, b.Name)
	})

	s.digests = kindat.Digests(at.Spec)
	s.run.Digest = s.digests[0]
	switch last := at.Status.Run; {
	case last == nil:
	case s.isCurrent(last.Digest):
		s.run, s.phase = *last.DeepCopy(), at.Status.Phase
	case s.mayHaveStarted(*last, at.Status.Phase):
		s.ran = remember(s.ran, last.Digest)
	}
	return s
}

// isCurrent says whether a digest is of the current spec.
func (s *snapshot) isCurrent(digest string) bool { return slices.Contains(s.digests, digest) }

// remember puts a digest in front of those that ran.
func remember(ran []string, digest string) []string {
	const most = 32
	ran = slices.DeleteFunc(slices.Clone(ran), func(d string) bool { return d == digest })
	ran = slices.Insert(ran, 0, digest)
	return ran[:min(len(ran), most)]
}

// startedPod is the Pod that runs the command or ran it: that of the run, or, as
// long as no run is on record, whichever of this spec is not gated. An At that was
// deleted and created again finds its Pod so.
func (s *snapshot) startedPod() *corev1.Pod {
	if pod := s.runPod(s.run); pod != nil && !gated(pod) {
		return pod
	}
	if s.phase != cnatv1alpha1.AtPending {
		return nil
	}
	return s.firstPod(func(pod *corev1.Pod) bool { return !gated(pod) })
}

// waitingPod is the gated Pod that is armed or, where that is gone, is to be.
func (s *snapshot) waitingPod() *corev1.Pod {
	if pod := s.runPod(s.run); pod != nil {
		return pod
	}
	return s.firstPod(func(pod *corev1.Pod) bool { return gated(pod) && pod.DeletionTimestamp == nil })
}

// runPod is the Pod of a run; nil where it is gone or none was armed.
func (s *snapshot) runPod(run cnatv1alpha1.AtRun) *corev1.Pod {
	i := slices.IndexFunc(s.pods, func(pod corev1.Pod) bool { return pod.UID == run.PodUID })
	if run.PodUID == "" || i < 0 {
		return nil
	}
	return &s.pods[i]
}

func (s *snapshot) hasPod(run cnatv1alpha1.AtRun) bool { return s.runPod(run) != nil }

// firstPod is the oldest Pod that was rendered from the current spec and matches.
func (s *snapshot) firstPod(matches func(*corev1.Pod) bool) *corev1.Pod {
	for i := range s.pods {
		pod := &s.pods[i]
		if s.isRendered(pod) && s.isCurrent(pod.Annotations[kind.DigestAnnotation]) && matches(pod) {
			return pod
		}
	}
	return nil
}

// isRendered says whether a Pod has the form of one that was rendered from the At.
// Labels and annotations alone would let whoever may write the template of a Deployment
// or a Job pass off a Pod for it. Such a Pod has an owner, and generateName still says
// so when it was orphaned.
func (s *snapshot) isRendered(pod *corev1.Pod) bool {
	return len(pod.OwnerReferences) == 0 && pod.GenerateName == "" && registry.IsHashName(pod.Name, s.at.Name)
}

// mayHaveStarted says whether the Pod of a run was opened or, as nobody can tell,
// may have been: the controller may die between opening it and saying so.
func (s *snapshot) mayHaveStarted(run cnatv1alpha1.AtRun, phase cnatv1alpha1.AtPhase) bool {
	if phase != cnatv1alpha1.AtPending {
		return true
	}
	if run.PodUID == "" {
		return false
	}
	if pod := s.runPod(run); pod != nil && !gated(pod) {
		return true
	}
	scheduled := ptr.Deref(run.ScheduledTime, metav1.Time{})
	if s.now.Before(scheduled.Time) {
		return false
	}
	// As nothing is opened while the status says Suspended, one that has said so
	// since before the instant says that nothing was.
	suspended := meta.FindStatusCondition(s.at.Status.Conditions, Suspended)
	return suspended == nil || !suspended.LastTransitionTime.Before(&scheduled)
}

func (s *snapshot) saysSuspended() bool {
	return meta.IsStatusConditionTrue(s.at.Status.Conditions, Suspended)
}

// deadline is the last instant at which the command may start; zero for none.
func (s *snapshot) deadline() time.Time {
	if s.at.Spec.StartingDeadlineSeconds == nil {
		return time.Time{}
	}
	return kindat.Deadline(s.due, *s.at.Spec.StartingDeadlineSeconds)
}

func (s *snapshot) deadlinePassed() bool {
	deadline := s.deadline()
	return !deadline.IsZero() && s.now.After(deadline)
}

// arm makes a Pod that of the run.
func (s *snapshot) arm(pod *corev1.Pod) {
	if s.run.PodUID == pod.UID {
		return
	}
	s.run = cnatv1alpha1.AtRun{
		Digest:        s.run.Digest,
		PodName:       pod.Name,
		PodUID:        pod.UID,
		ScheduledTime: wholeSeconds(s.due),
	}
}

// gated says whether the controller's gate is still on a Pod.
func gated(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.SchedulingGates, func(gate corev1.PodSchedulingGate) bool {
		return gate.Name == kindat.Gate
	})
}

// wholeSeconds is a time as the API server stores it.
func wholeSeconds(t time.Time) *metav1.Time {
	return ptr.To(metav1.NewTime(t.Truncate(time.Second)))
}

// earliest is the earliest of the times that are not zero.
func earliest(times ...time.Time) time.Time {
	times = slices.DeleteFunc(times, time.Time.IsZero)
	if len(times) == 0 {
		return time.Time{}
	}
	return slices.MinFunc(times, time.Time.Compare)
}

func (s *snapshot) newConditions() *condition.Conditions {
	return condition.New(s.at.Status.Conditions, s.at.Generation, s.now)
}
