package at

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/condition"
	"example.com/gatehouse/test/expanded"
	"example.com/gatehouse/test/health"
)

var due = time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)

func newAt(changes ...func(*cnatv1alpha1.At)) *cnatv1alpha1.At {
	at := &cnatv1alpha1.At{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "at", Generation: 7},
		Spec:       cnatv1alpha1.AtSpec{Schedule: "2026-01-31T10:00:00+01:00", Command: "echo YAY", Image: "busybox", RestartPolicy: corev1.RestartPolicyOnFailure},
	}
	for _, change := range changes {
		change(at)
	}
	return at
}

// podFor returns a gated Pod of an At. Its UID is one hexadecimal digit.
func podFor(at *cnatv1alpha1.At, uid types.UID, changes ...func(*corev1.Pod)) corev1.Pod {
	pod := expanded.First[corev1.Pod](kindat.Kind, at)
	pod.Name = podName(uid)
	pod.UID = uid
	for _, change := range changes {
		change(pod)
	}
	return *pod
}

func podName(uid types.UID) string { return "at-" + strings.Repeat(string(uid), 10) }

func named(name string) func(*corev1.Pod) { return func(pod *corev1.Pod) { pod.Name = name } }

func labeled(at string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels[kindat.Label] = at }
}

func ownedByJob(pod *corev1.Pod) {
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "at", UID: "job"}}
}

func withGenerateName(pod *corev1.Pod) { pod.GenerateName = "at-" }

func open(pod *corev1.Pod) { pod.Spec.SchedulingGates = nil }

func endedWith(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { open(pod); pod.Status.Phase = phase }
}

func created(t time.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.CreationTimestamp = metav1.NewTime(t) }
}

// withRun gives an At the status of an earlier decision.
func withRun(phase cnatv1alpha1.AtPhase, uid types.UID) func(*cnatv1alpha1.At) {
	return func(at *cnatv1alpha1.At) {
		at.Status.Phase = phase
		at.Status.Run = &cnatv1alpha1.AtRun{
			Digest: kindat.Digest(at.Spec), PodName: podName(uid), PodUID: uid, ScheduledTime: ptr.To(metav1.NewTime(due)),
		}
		if phase == cnatv1alpha1.AtDone {
			reports(Failed, ReasonPodLost)(at)
		}
	}
}

// reports gives an At the conditions of a status with a condition type and a reason.
func reports(conditionType, reason string) func(*cnatv1alpha1.At) {
	return func(at *cnatv1alpha1.At) {
		conditions := condition.New(nil, at.Generation, due.Add(-time.Hour))
		switch conditionType {
		case condition.Reconciling:
			conditions.Reconciling(reason, "")
		case condition.Stalled:
			conditions.Stalled(reason, "")
		case Failed:
			conditions.Add(Failed, metav1.ConditionTrue, reason, "")
			conditions.Stalled(reason, "")
		default:
			conditions.Add(conditionType, metav1.ConditionTrue, reason, "")
			conditions.Ready(reason, "")
		}
		at.Status.Conditions = conditions.Sorted()
	}
}

// zoned adds an unknown time zone to a schedule: the controller reads only the offset.
func zoned(at *cnatv1alpha1.At) { at.Spec.Schedule += "[No/Zone]" }

func suspended(since time.Time) func(*cnatv1alpha1.At) {
	return func(at *cnatv1alpha1.At) {
		at.Status.Conditions = []metav1.Condition{{Type: Suspended, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}}
	}
}

func finished(at *cnatv1alpha1.At) {
	at.Status.Run.FinishedTime = ptr.To(metav1.NewTime(due))
	reports(Complete, ReasonComplete)(at)
}

func suspend(at *cnatv1alpha1.At) { at.Spec.Suspend = true }
func deadline(seconds int64) func(*cnatv1alpha1.At) {
	return func(at *cnatv1alpha1.At) { at.Spec.StartingDeadlineSeconds = &seconds }
}

func uidOf(pod *TrimmedPod) types.UID {
	if pod == nil {
		return ""
	}
	return pod.UID
}

func deleting(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{} }

func edited(at *cnatv1alpha1.At) { at.Spec.Command = "echo edited" }

func forgotten(latest time.Time) func(*cnatv1alpha1.At) {
	return func(at *cnatv1alpha1.At) { at.Status.ForgottenTime = wholeSeconds(latest) }
}

// restored gives an At a status that is older than the At, as from a backup.
func restored(at *cnatv1alpha1.At) {
	at.CreationTimestamp = metav1.NewTime(due)
	at.Status.Conditions = []metav1.Condition{{Type: Armed, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(due.Add(-time.Hour))}}
}

// decideTrimmed calls decide with an At and Pods as the cache holds them.
func decideTrimmed(at *cnatv1alpha1.At, pods []corev1.Pod, now time.Time, grace time.Duration) Decision {
	var trimmed []*TrimmedPod
	for i := range pods {
		trimmed = append(trimmed, trimPod(&pods[i]))
	}
	return decide(trimAt(at.DeepCopy()), trimmed, moment{now: now, grace: grace})
}

// claimed gives an At the status that records the start of a Pod.
func claimed(uid types.UID) func(*cnatv1alpha1.At) {
	return func(at *cnatv1alpha1.At) {
		withRun(cnatv1alpha1.AtRunning, uid)(at)
		at.Status.Run.OpenedTime = at.Status.Run.ScheduledTime
		reports(condition.Reconciling, ReasonRunning)(at)
	}
}

func TestDecideTakesTheNextStep(t *testing.T) {
	const (
		pending = cnatv1alpha1.AtPending
		running = cnatv1alpha1.AtRunning
		done    = cnatv1alpha1.AtDone
	)
	plain := newAt()
	other := newAt(func(at *cnatv1alpha1.At) { at.Spec.Command = "echo other" })
	soon := newAt(func(at *cnatv1alpha1.At) { at.Spec.Schedule = "soon" })
	early := due.Add(-time.Hour)
	late := due.Add(time.Hour)
	type pods = []corev1.Pod

	for name, test := range map[string]struct {
		at     *cnatv1alpha1.At
		pods   pods
		now    time.Time
		hold   types.UID
		open   types.UID
		claim  bool
		phase  cnatv1alpha1.AtPhase
		reason string
		run    types.UID
		wake   time.Time
	}{
		"no Pod":                                            {at: newAt(), now: early, phase: pending, reason: ReasonPodMissing, wake: early.Add(time.Minute)},
		"a Pod of another spec":                             {at: newAt(), pods: pods{podFor(other, "c")}, now: late, phase: pending, reason: ReasonRenderingStale, wake: late.Add(time.Minute)},
		"a Pod of a Job":                                    {at: newAt(), pods: pods{podFor(plain, "a", ownedByJob)}, now: late, phase: pending, reason: ReasonPodMissing, wake: late.Add(time.Minute)},
		"a Pod of a Job, running":                           {at: newAt(), pods: pods{podFor(plain, "a", ownedByJob, open)}, now: late, phase: pending, reason: ReasonPodMissing, wake: late.Add(time.Minute)},
		"a Pod of a Job, beside the rendered one":           {at: newAt(), pods: pods{podFor(plain, "a", ownedByJob, open), podFor(plain, "b", created(due))}, now: early, phase: pending, reason: ReasonArmed, run: "b", wake: due},
		"an orphan of a StatefulSet":                        {at: newAt(), pods: pods{podFor(plain, "a", withGenerateName)}, now: late, phase: pending, reason: ReasonPodMissing, wake: late.Add(time.Minute)},
		"a Pod of another name":                             {at: newAt(), pods: pods{podFor(plain, "a", named("at-0"))}, now: late, phase: pending, reason: ReasonPodMissing, wake: late.Add(time.Minute)},
		"a Pod of a Job, of another spec":                   {at: newAt(), pods: pods{podFor(other, "a", ownedByJob), podFor(other, "c")}, now: late, phase: pending, reason: ReasonRenderingStale, wake: late.Add(time.Minute)},
		"armed a Pod of another name, due":                  {at: newAt(withRun(pending, "a")), pods: pods{podFor(plain, "a", named("at"))}, now: due, phase: pending, reason: ReasonPodMissing, wake: due.Add(time.Minute)},
		"armed a Pod of another At, due":                    {at: newAt(withRun(pending, "a")), pods: pods{podFor(plain, "a", labeled("other"))}, now: due, phase: pending, reason: ReasonPodMissing, wake: due.Add(time.Minute)},
		"armed a Pod of another spec, due":                  {at: newAt(withRun(pending, "a")), pods: pods{podFor(other, "a")}, now: due, phase: pending, reason: ReasonRenderingStale, wake: due.Add(time.Minute)},
		"recorded a Pod of another At":                      {at: newAt(claimed("a")), pods: pods{podFor(plain, "a", labeled("other"))}, now: due, phase: done, reason: ReasonPodLost, run: "a"},
		"recorded a Pod of another spec":                    {at: newAt(claimed("a")), pods: pods{podFor(other, "a")}, now: due, phase: done, reason: ReasonPodLost, run: "a"},
		"recorded a Pod of a Job":                           {at: newAt(claimed("a")), pods: pods{podFor(plain, "a", ownedByJob, endedWith(corev1.PodSucceeded))}, now: due, phase: done, reason: ReasonPodLost, run: "a"},
		"recorded a Pod of another At, edited":              {at: newAt(claimed("a"), edited), pods: pods{podFor(plain, "a", labeled("other"))}, now: due, phase: pending, reason: ReasonPodMissing, wake: due.Add(time.Minute)},
		"armed, due, a Pod of a Job runs":                   {at: newAt(withRun(pending, "a")), pods: pods{podFor(plain, "a"), podFor(plain, "b", ownedByJob, open)}, now: due, claim: true, phase: running, reason: ReasonRunning, run: "a"},
		"no Pod and a deadline":                             {at: newAt(deadline(5)), now: due, phase: pending, reason: ReasonPodMissing, wake: due.Add(5*time.Second + 1)},
		"a Pod":                                             {at: newAt(), pods: pods{podFor(plain, "a")}, now: early, phase: pending, reason: ReasonArmed, run: "a", wake: due},
		"a Pod that is being deleted":                       {at: newAt(), pods: pods{podFor(plain, "a", deleting)}, now: early, phase: pending, reason: ReasonPodMissing, wake: early.Add(time.Minute)},
		"two Pods":                                          {at: newAt(), pods: pods{podFor(plain, "a", created(due)), podFor(plain, "b", created(early))}, now: early, phase: pending, reason: ReasonPodAmbiguous, wake: early.Add(time.Minute)},
		"a Pod, late":                                       {at: newAt(), pods: pods{podFor(plain, "a")}, now: late, claim: true, phase: running, reason: ReasonRunning, run: "a"},
		"armed, a nanosecond early":                         {at: newAt(withRun(pending, "a")), pods: pods{podFor(plain, "a")}, now: due.Add(-1), phase: pending, reason: ReasonArmed, run: "a", wake: due},
		"armed, due":                                        {at: newAt(withRun(pending, "a")), pods: pods{podFor(plain, "a")}, now: due, claim: true, phase: running, reason: ReasonRunning, run: "a"},
		"armed, a zone added since, a nanosecond early":     {at: newAt(withRun(pending, "a"), zoned), pods: pods{podFor(plain, "a")}, now: due.Add(-1), phase: pending, reason: ReasonArmed, run: "a", wake: due},
		"armed, a zone added since, due":                    {at: newAt(withRun(pending, "a"), zoned), pods: pods{podFor(plain, "a")}, now: due, claim: true, phase: running, reason: ReasonRunning, run: "a"},
		"armed, due, beside an older Pod":                   {at: newAt(withRun(pending, "a")), pods: pods{podFor(plain, "a", created(due)), podFor(plain, "b", created(early))}, now: due, phase: pending, reason: ReasonPodAmbiguous, run: "a", wake: due.Add(time.Minute)},
		"armed, due, at the deadline":                       {at: newAt(withRun(pending, "a"), deadline(5)), pods: pods{podFor(plain, "a")}, now: due.Add(5 * time.Second), claim: true, phase: running, reason: ReasonRunning, run: "a"},
		"armed, due, past the deadline":                     {at: newAt(withRun(pending, "a"), deadline(5)), pods: pods{podFor(plain, "a")}, now: due.Add(5*time.Second + 1), phase: done, reason: ReasonDeadlineMissed, run: "a"},
		"no Pod, past the deadline":                         {at: newAt(deadline(5)), now: late, phase: done, reason: ReasonDeadlineMissed},
		"armed, due, at the longest deadline":               {at: newAt(withRun(pending, "a"), deadline(3153600000)), pods: pods{podFor(plain, "a")}, now: due.Add(3153600000 * time.Second), claim: true, phase: running, reason: ReasonRunning, run: "a"},
		"armed, due, before a deadline beyond time":         {at: newAt(withRun(pending, "a"), deadline(math.MaxInt64)), pods: pods{podFor(plain, "a")}, now: late, claim: true, phase: running, reason: ReasonRunning, run: "a"},
		"armed, due, past the longest deadline":             {at: newAt(withRun(pending, "a"), deadline(3153600000)), pods: pods{podFor(plain, "a")}, now: due.Add(3153600000*time.Second + 1), phase: done, reason: ReasonDeadlineMissed, run: "a"},
		"restored, armed, its Pod is not restored, in time": {at: newAt(withRun(pending, "a"), deadline(5), restored), pods: pods{podFor(plain, "b")}, now: due, phase: done, reason: ReasonPodLost, run: "a"},
		"restored without status, its Pod open, late":       {at: newAt(deadline(5)), pods: pods{podFor(plain, "b", open)}, now: late, phase: running, reason: ReasonRunning, run: "b"},
		"armed, due, the Pod is being deleted":              {at: newAt(withRun(pending, "a")), pods: pods{podFor(plain, "a", deleting)}, now: due, phase: pending, reason: ReasonPodMissing, wake: due.Add(time.Minute)},
		"armed, due, suspended":                             {at: newAt(withRun(pending, "a"), suspend), pods: pods{podFor(plain, "a")}, now: late, phase: pending, reason: ReasonSuspended, run: "a"},
		"armed, due, suspended, a deadline":                 {at: newAt(withRun(pending, "a"), suspend, deadline(5)), pods: pods{podFor(plain, "a")}, now: due, phase: pending, reason: ReasonSuspended, run: "a", wake: due.Add(5*time.Second + 1)},
		"armed, due, resumed":                               {at: newAt(withRun(pending, "a"), suspended(early)), pods: pods{podFor(plain, "a")}, now: late, claim: true, phase: running, reason: ReasonRunning, run: "a"},
		"the armed Pod is gone, early":                      {at: newAt(withRun(pending, "a")), pods: pods{podFor(plain, "b")}, now: due.Add(-1), phase: pending, reason: ReasonArmed, run: "b", wake: due},
		"the armed Pod is gone, early, no other":            {at: newAt(withRun(pending, "a")), now: due.Add(-1), phase: pending, reason: ReasonPodMissing, wake: due.Add(time.Minute - 1)},
		"the armed Pod is gone, due":                        {at: newAt(withRun(pending, "a")), pods: pods{podFor(plain, "b")}, now: due, claim: true, phase: running, reason: ReasonRunning, run: "b"},
		"the armed Pod is gone, suspended":                  {at: newAt(withRun(pending, "a"), suspend, suspended(early)), pods: pods{podFor(plain, "b")}, now: late, phase: pending, reason: ReasonSuspended, run: "b"},
		"opened, not recorded":                              {at: newAt(withRun(pending, "a")), pods: pods{podFor(plain, "a", open)}, now: due, phase: running, reason: ReasonRunning, run: "a"},
		"opened by another client, early":                   {at: newAt(), pods: pods{podFor(plain, "a", open)}, now: early, phase: done, reason: ReasonOpenedEarly, run: "a"},
		"another Pod of this spec runs":                     {at: newAt(withRun(pending, "a")), pods: pods{podFor(plain, "a"), podFor(plain, "b", open)}, now: due, phase: running, reason: ReasonRunning, run: "b"},
		"a Pod of another spec runs":                        {at: newAt(withRun(pending, "a")), pods: pods{podFor(plain, "a"), podFor(other, "b", open)}, now: due, claim: true, phase: running, reason: ReasonRunning, run: "a"},
		"recorded, the cache lags":                          {at: newAt(claimed("a")), pods: pods{podFor(plain, "a")}, now: due, open: "a", phase: running, reason: ReasonRunning, run: "a"},
		"running, the Pod is gone":                          {at: newAt(claimed("a")), pods: pods{podFor(plain, "b")}, now: due, phase: done, reason: ReasonPodLost, run: "a"},
		"running, suspended":                                {at: newAt(claimed("a"), suspend), pods: pods{podFor(plain, "a", open)}, now: due, phase: running, reason: ReasonRunning, run: "a"},
		"succeeded":                                         {at: newAt(claimed("a")), pods: pods{podFor(plain, "a", endedWith(corev1.PodSucceeded))}, now: due, phase: done, reason: ReasonComplete, run: "a"},
		"failed":                                            {at: newAt(claimed("a")), pods: pods{podFor(plain, "a", endedWith(corev1.PodFailed))}, now: due, phase: done, reason: ReasonPodFailed, run: "a"},
		"succeeded, never recorded":                         {at: newAt(), pods: pods{podFor(plain, "a", endedWith(corev1.PodSucceeded)), podFor(plain, "b")}, now: due, phase: done, reason: ReasonComplete, run: "a"},
		"done, its Pod exists":                              {at: newAt(withRun(done, "a"), finished), pods: pods{podFor(plain, "a", endedWith(corev1.PodSucceeded))}, now: late, phase: done, reason: ReasonComplete, run: "a"},
		"done, a new Pod":                                   {at: newAt(withRun(done, "a")), pods: pods{podFor(plain, "b")}, now: late, phase: done, reason: ReasonPodLost, run: "a"},
		"done, a new Pod opened by another client":          {at: newAt(withRun(done, "a")), pods: pods{podFor(plain, "b", open)}, now: late, phase: done, reason: ReasonPodLost, run: "a"},
		"deadline missed, but it started":                   {at: newAt(withRun(done, "a")), pods: pods{podFor(plain, "a", open)}, now: late, phase: running, reason: ReasonRunning, run: "a"},
		"invalid":                                           {at: newAt(func(at *cnatv1alpha1.At) { at.Spec.Schedule = "soon" }), now: due, phase: pending, reason: ReasonInvalidSchedule},
		"invalid, run by another version":                   {at: newAt(func(at *cnatv1alpha1.At) { at.Spec.Schedule = "0001-01-01T00:00:00Z" }, withRun(done, "a"), finished), now: due, phase: done, reason: ReasonComplete, run: "a"},
		"invalid, the Pod opened by another client":         {at: soon, pods: pods{podFor(soon, "a", open)}, now: due, phase: running, reason: ReasonRunning, run: "a"},
		"invalid, armed, and the Pod is gone":               {at: newAt(func(at *cnatv1alpha1.At) { at.Spec.Schedule = "soon" }, withRun(pending, "a")), now: due, phase: pending, reason: ReasonInvalidSchedule},
		"ran before":                                        {at: newAt(func(at *cnatv1alpha1.At) { at.Status.Ran = []string{kindat.Digest(at.Spec)} }), pods: pods{podFor(plain, "a")}, now: late, phase: done, reason: ReasonAlreadyRan},
		"ran before, and its Pod exists":                    {at: newAt(func(at *cnatv1alpha1.At) { at.Status.Ran = []string{kindat.Digest(at.Spec)} }), pods: pods{podFor(plain, "a", endedWith(corev1.PodSucceeded))}, now: late, phase: done, reason: ReasonComplete, run: "a"},
		"claimed, before it is due":                         {at: newAt(claimed("a")), pods: pods{podFor(plain, "a")}, now: early, open: "a", phase: running, reason: ReasonRunning, run: "a"},
		"claimed, suspended":                                {at: newAt(claimed("a"), suspend), pods: pods{podFor(plain, "a")}, now: due, hold: "a", phase: pending, reason: ReasonSuspended, run: "a"},
		"claimed, past the deadline":                        {at: newAt(claimed("a"), deadline(5)), pods: pods{podFor(plain, "a")}, now: late, hold: "a", phase: done, reason: ReasonDeadlineMissed, run: "a"},
		"claimed, the Pod is being deleted":                 {at: newAt(claimed("a")), pods: pods{podFor(plain, "a", deleting)}, now: due, hold: "a", phase: pending, reason: ReasonPodMissing, wake: due.Add(time.Minute)},
		"claimed, edited":                                   {at: newAt(claimed("a"), edited), pods: pods{podFor(plain, "a")}, now: due, hold: "a", phase: pending, reason: ReasonRenderingStale, wake: due.Add(time.Minute)},
		"claimed, and another Pod runs":                     {at: newAt(claimed("a")), pods: pods{podFor(plain, "a"), podFor(plain, "b", open)}, now: due, hold: "a", phase: running, reason: ReasonRunning, run: "b"},
		"done by another Pod, with its start on record":     {at: newAt(claimed("a"), func(at *cnatv1alpha1.At) { at.Status.Phase = done }, reports(Failed, ReasonPodFailed)), pods: pods{podFor(plain, "a"), podFor(plain, "b")}, now: due, hold: "a", phase: done, reason: ReasonPodFailed, run: "a"},
		"claimed, beside another Pod":                       {at: newAt(claimed("a")), pods: pods{podFor(plain, "a"), podFor(plain, "b")}, now: due, open: "a", phase: running, reason: ReasonRunning, run: "a"},
		"due by the forgotten time":                         {at: newAt(forgotten(due)), pods: pods{podFor(plain, "a")}, now: due, phase: done, reason: ReasonMayHaveRun},
		"due after the forgotten time":                      {at: newAt(forgotten(due.Add(-time.Second))), pods: pods{podFor(plain, "a")}, now: due, claim: true, phase: running, reason: ReasonRunning, run: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			decision := decideTrimmed(test.at, test.pods, test.now, time.Minute)
			if got := uidOf(decision.Open); got != test.open || decision.Claim != test.claim {
				t.Errorf("opens %q, claims %t; want %q, %t", got, decision.Claim, test.open, test.claim)
			}
			if got := uidOf(decision.Hold); got != test.hold {
				t.Errorf("holds %q, want %q", got, test.hold)
			}
			next := decision.Status
			if next.Phase != test.phase {
				t.Errorf("phase %s, want %s", next.Phase, test.phase)
			}
			if got := condition.FindReady(next.Conditions).Reason; got != test.reason {
				t.Errorf("reason %s, want %s", got, test.reason)
			}
			if got := ptr.Deref(next.Run, cnatv1alpha1.AtRun{}).PodUID; got != test.run {
				t.Errorf("run of %q, want %q", got, test.run)
			}
			if !decision.Wake.Equal(test.wake) {
				t.Errorf("wakes at %s, want %s", decision.Wake, test.wake)
			}
			if next.ObservedGeneration != 7 {
				t.Errorf("observed generation %d", next.ObservedGeneration)
			}
			after := test.at.DeepCopy()
			after.Status = next
			if object, err := untyped(after); err != nil {
				t.Error(err)
			} else if err := health.Check(object); err != nil && test.reason != "" {
				t.Error(err)
			}
		})
	}
}

// Another client may write any status. It starts nothing twice, and no At is Ready that does not start: an end
// that the controller did not record is dismissed where the Pod shows that, and reported otherwise.
func TestDecideMendsForgedStatus(t *testing.T) {
	const (
		pending = cnatv1alpha1.AtPending
		running = cnatv1alpha1.AtRunning
		done    = cnatv1alpha1.AtDone
	)
	plain := newAt()
	early := due.Add(-time.Hour)
	late := due.Add(time.Hour)
	gated := podFor(plain, "a")
	ran := podFor(plain, "a", endedWith(corev1.PodSucceeded))
	type change = func(*cnatv1alpha1.At)
	armed := func(changes ...change) *cnatv1alpha1.At {
		return newAt(append([]change{withRun(pending, "a"), reports(Armed, ReasonArmed)}, changes...)...)
	}
	phase := func(phase cnatv1alpha1.AtPhase) change { return func(at *cnatv1alpha1.At) { at.Status.Phase = phase } }
	times := func(opened, finished time.Time) change {
		return func(at *cnatv1alpha1.At) {
			if !opened.IsZero() {
				at.Status.Run.OpenedTime = wholeSeconds(opened)
			}
			if !finished.IsZero() {
				at.Status.Run.FinishedTime = wholeSeconds(finished)
				at.Status.Run.ExitCode = new(int32)
			}
		}
	}
	unset := time.Time{}
	ranBefore := func(at *cnatv1alpha1.At) { at.Status.Ran = []string{kindat.Digest(at.Spec)} }
	byAnother := func(at *cnatv1alpha1.At) {
		at.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl-patch", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:ran":{}}}`)}}
	}
	type pods = []corev1.Pod
	for name, test := range map[string]struct {
		at     *cnatv1alpha1.At
		pods   pods
		now    time.Time
		hold   types.UID
		open   types.UID
		claim  bool
		phase  cnatv1alpha1.AtPhase
		reason string
	}{
		"done, early":                            {at: armed(phase(done)), pods: pods{gated}, now: early, phase: pending, reason: ReasonArmed},
		"done, due":                              {at: armed(phase(done)), pods: pods{gated}, now: due, claim: true, phase: running, reason: ReasonRunning},
		"done, suspended":                        {at: armed(phase(done), suspend), pods: pods{gated}, now: due, phase: pending, reason: ReasonSuspended},
		"done, without a Pod":                    {at: armed(phase(done)), now: late, phase: pending, reason: ReasonPodMissing},
		"done, without conditions":               {at: newAt(withRun(pending, "a"), phase(done)), pods: pods{gated}, now: due, claim: true, phase: running, reason: ReasonRunning},
		"done, its start on record":              {at: newAt(claimed("a"), phase(done)), pods: pods{gated}, now: due, open: "a", phase: running, reason: ReasonRunning},
		"done, it runs":                          {at: newAt(claimed("a"), phase(done)), pods: pods{podFor(plain, "a", open)}, now: due, phase: running, reason: ReasonRunning},
		"running":                                {at: armed(phase(running)), pods: pods{gated}, now: early, phase: pending, reason: ReasonArmed},
		"finished":                               {at: armed(times(unset, early)), pods: pods{gated}, now: early, phase: pending, reason: ReasonArmed},
		"finished and done":                      {at: armed(phase(done), times(unset, early)), pods: pods{gated}, now: due, claim: true, phase: running, reason: ReasonRunning},
		"finished, it runs":                      {at: newAt(claimed("a"), times(unset, due)), pods: pods{podFor(plain, "a", open)}, now: due, phase: running, reason: ReasonRunning},
		"finished, its start on record":          {at: newAt(claimed("a"), times(unset, due)), pods: pods{gated}, now: due, open: "a", phase: running, reason: ReasonRunning},
		"finished, it ran":                       {at: newAt(claimed("a"), times(unset, due)), pods: pods{ran}, now: late, phase: done, reason: ReasonComplete},
		"finished, the Pod is gone":              {at: armed(times(unset, due)), pods: pods{podFor(plain, "b")}, now: late, phase: pending, reason: ReasonStatusOverwritten},
		"complete":                               {at: armed(phase(done), times(due, due), reports(Complete, ReasonComplete)), pods: pods{gated}, now: due, open: "a", phase: running, reason: ReasonRunning},
		"complete, suspended":                    {at: armed(phase(done), times(due, due), reports(Complete, ReasonComplete), suspend), pods: pods{gated}, now: due, hold: "a", phase: pending, reason: ReasonSuspended},
		"complete, not finished":                 {at: armed(phase(done), reports(Complete, ReasonComplete)), pods: pods{gated}, now: due, claim: true, phase: running, reason: ReasonRunning},
		"opened before it is due":                {at: armed(times(early, unset)), pods: pods{gated}, now: early, hold: "a", phase: pending, reason: ReasonArmed},
		"opened":                                 {at: armed(times(due, unset)), pods: pods{gated}, now: early, open: "a", phase: running, reason: ReasonRunning},
		"ready, its start on record":             {at: newAt(claimed("a"), reports(Armed, ReasonArmed)), pods: pods{gated}, now: due, open: "a", phase: running, reason: ReasonRunning},
		"ready, its deadline missed":             {at: newAt(withRun(done, "a"), deadline(5), reports(Failed, ReasonDeadlineMissed), ready), pods: pods{gated}, now: late, phase: done, reason: ReasonDeadlineMissed},
		"ready, its Pod lost":                    {at: newAt(claimed("a"), phase(done), reports(Failed, ReasonPodLost), ready), now: late, phase: done, reason: ReasonPodLost},
		"stalled, it completed":                  {at: newAt(claimed("a"), finished, phase(done), stalled), now: late, phase: done, reason: ReasonComplete},
		"pending, it ran":                        {at: newAt(claimed("a"), finished, phase(pending)), now: late, phase: done, reason: ReasonComplete},
		"ran":                                    {at: armed(ranBefore, byAnother), pods: pods{gated}, now: early, phase: pending, reason: ReasonStatusOverwritten},
		"ran, and says so":                       {at: armed(phase(done), ranBefore, byAnother, reports(Armed, ReasonAlreadyRan)), pods: pods{gated}, now: due, phase: pending, reason: ReasonStatusOverwritten},
		"ran, and that is reported":              {at: armed(ranBefore, reports(condition.Stalled, ReasonStatusOverwritten)), pods: pods{gated}, now: due, phase: pending, reason: ReasonStatusOverwritten},
		"says that it ran":                       {at: armed(phase(done), reports(Armed, ReasonAlreadyRan)), pods: pods{gated}, now: due, claim: true, phase: running, reason: ReasonRunning},
		"done, as the controller says it ran":    {at: armed(phase(done), ranBefore, reports(Armed, ReasonAlreadyRan)), pods: pods{gated}, now: due, phase: done, reason: ReasonAlreadyRan},
		"done, as the controller says it failed": {at: armed(phase(done), reports(Failed, ReasonDeadlineMissed)), pods: pods{gated}, now: due, phase: done, reason: ReasonDeadlineMissed},
	} {
		t.Run(name, func(t *testing.T) {
			test.at.Status.Run.PodName = "other"
			test.at.Status.Run.ScheduledTime = wholeSeconds(late)
			decision := decideTrimmed(test.at, test.pods, test.now, time.Minute)
			open := uidOf(decision.Open)
			hold := uidOf(decision.Hold)
			if open != test.open || hold != test.hold || decision.Claim != test.claim {
				t.Errorf("opens %q, holds %q, claims %t; want %q, %q, %t", open, hold, decision.Claim, test.open, test.hold, test.claim)
			}
			next := decision.Status
			if reason := condition.FindReady(next.Conditions).Reason; next.Phase != test.phase || reason != test.reason {
				t.Errorf("%s %s, want %s %s", next.Phase, reason, test.phase, test.reason)
			}
			after := test.at.DeepCopy()
			after.Status = next
			if object, err := untyped(after); err != nil {
				t.Error(err)
			} else if err := health.Check(object); err != nil {
				t.Error(err)
			}
			if next.Phase != done && test.reason != ReasonStatusOverwritten && next.Run != nil && (next.Run.PodName != podName("a") || !next.Run.ScheduledTime.Equal(wholeSeconds(due))) {
				t.Errorf("run %+v", next.Run)
			}
		})
	}
}

// ready makes the condition Ready of an At True.
func ready(at *cnatv1alpha1.At) {
	meta.FindStatusCondition(at.Status.Conditions, condition.Ready).Status = metav1.ConditionTrue
}

// stalled makes an At Stalled beside its other conditions.
func stalled(at *cnatv1alpha1.At) {
	for _, c := range []metav1.Condition{{Type: condition.Ready, Status: metav1.ConditionFalse}, {Type: condition.Stalled, Status: metav1.ConditionTrue}} {
		c.Reason = "Other"
		meta.SetStatusCondition(&at.Status.Conditions, c)
	}
}

// A new At gets no status for a moment: its Pod may follow in the same sync.
func TestDecideWaitsForPodOfNewAt(t *testing.T) {
	at := newAt(func(at *cnatv1alpha1.At) {
		at.CreationTimestamp = metav1.NewTime(due)
		at.Status.ObservedGeneration = -1
	})
	for name, test := range map[string]struct {
		pods   []corev1.Pod
		now    time.Time
		reason string
		wake   time.Time
	}{
		"created":                          {nil, due, "", due.Add(2 * time.Second)},
		"a moment later":                   {nil, due.Add(2*time.Second - 1), "", due.Add(2 * time.Second)},
		"for too long":                     {nil, due.Add(2 * time.Second), ReasonPodMissing, due.Add(time.Minute + 2*time.Second)},
		"created by a clock that is ahead": {nil, due.Add(-time.Hour), ReasonPodMissing, due.Add(time.Minute - time.Hour)},
		"the Pod comes, and it is due":     {[]corev1.Pod{podFor(at, "a")}, due.Add(time.Second), ReasonRunning, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			decision := decideTrimmed(at, test.pods, test.now, time.Minute)
			if got := condition.FindReady(decision.Status.Conditions).Reason; got != test.reason || !decision.Wake.Equal(test.wake) {
				t.Errorf("%q until %s, want %q until %s", got, decision.Wake, test.reason, test.wake)
			}
			if test.reason == "" && !status.Equal(at.Status, decision.Status) {
				t.Errorf("writes %+v", decision.Status)
			}
		})
	}
}

// An edited At remembers an earlier spec that may have started.
func TestDecideRemembersStartedSpecs(t *testing.T) {
	edit := func(at *cnatv1alpha1.At) { at.Spec.Command = "echo other" }
	plain := newAt()
	for name, test := range map[string]struct {
		at       *cnatv1alpha1.At
		pods     []corev1.Pod
		now      time.Time
		remember bool
	}{
		"never armed":   {newAt(edit), nil, due, false},
		"armed, early":  {newAt(withRun(cnatv1alpha1.AtPending, "a"), edit), []corev1.Pod{podFor(plain, "a")}, due.Add(-1), false},
		"armed, due":    {newAt(withRun(cnatv1alpha1.AtPending, "a"), edit), []corev1.Pod{podFor(plain, "a")}, due, false},
		"claimed, held": {newAt(claimed("a"), edit), []corev1.Pod{podFor(plain, "a")}, due, false},
		"claimed, gone": {newAt(claimed("a"), edit), nil, due, true},
		"a Pod runs":    {newAt(edit), []corev1.Pod{podFor(plain, "a", open)}, due, true},
		"opened early":  {newAt(withRun(cnatv1alpha1.AtPending, "a"), edit), []corev1.Pod{podFor(plain, "a", open)}, due.Add(-1), true},
		"running":       {newAt(withRun(cnatv1alpha1.AtRunning, "a"), edit), nil, due, true},
		"done":          {newAt(withRun(cnatv1alpha1.AtDone, "a"), edit), nil, due, true},
	} {
		t.Run(name, func(t *testing.T) {
			ran := decideTrimmed(test.at, test.pods, test.now, time.Minute).Status.Ran
			if got := len(ran) == 1 && digestOf(ran[0]) == kindat.Digest(plain.Spec); got != test.remember {
				t.Errorf("ran %v", ran)
			}
		})
	}
}

// A status names a limited number of specs. For older ones it keeps their latest schedule.
func TestRememberKeepsNewestSpecsAndBound(t *testing.T) {
	s := &snapshot{}
	for i := range 33 {
		s.remember(fmt.Sprint(i), due.Add(-time.Duration(i)*time.Hour))
	}
	s.remember("40", due)
	if len(s.ran) != 32 || s.ran[0] != "40@2026-01-31T09:00:00Z" || s.ran[1] != "32@2026-01-30T01:00:00Z" || !s.forgotten.Time.Equal(due) {
		t.Errorf("ran %v, forgotten %s", s.ran, s.forgotten)
	}
	s.remember("40", due)
	if len(s.ran) != 32 || s.ran[1] != "32@2026-01-30T01:00:00Z" {
		t.Errorf("remembered twice: ran %v", s.ran)
	}
}

// If many Ats are due together, starts are recorded ahead of time.
func TestDecideRecordsStartAheadOfTime(t *testing.T) {
	at := trimAt(newAt(withRun(cnatv1alpha1.AtPending, "a")))
	pod := podFor(newAt(), "a")
	pods := []*TrimmedPod{trimPod(&pod)}
	const lead = 5 * time.Second
	for name, test := range map[string]struct {
		now   time.Time
		claim bool
		wake  time.Time
	}{
		"early": {due.Add(-lead - 1), false, due.Add(-lead)},
		"ahead": {due.Add(-lead), true, time.Time{}},
	} {
		decision := decide(at, pods, moment{now: test.now, lead: lead})
		if decision.Claim != test.claim || decision.Open != nil || !decision.Wake.Equal(test.wake) {
			t.Errorf("%s: %+v", name, decision)
		}
		if test.claim && !decision.Status.Run.OpenedTime.Time.Equal(due) {
			t.Errorf("%s: opened at %s", name, decision.Status.Run.OpenedTime)
		}
	}
}

// An At without a Pod stalls after the grace period. An edit starts a new period.
func TestDecideStallsAfterGracePeriod(t *testing.T) {
	at := newAt()
	step := func(now time.Time, stalled bool) {
		t.Helper()
		at.Status = decideTrimmed(at, nil, now, time.Minute).Status
		if got := meta.IsStatusConditionTrue(at.Status.Conditions, condition.Stalled); got != stalled {
			t.Errorf("at %s: stalled %t", now.Sub(due), got)
		}
	}
	step(due, false)
	step(due.Add(time.Minute-1), false)
	step(due.Add(time.Minute), true)
	step(due.Add(time.Hour), true)
	at.Generation++
	step(due.Add(2*time.Hour), false)
	step(due.Add(2*time.Hour+time.Minute), true)
}

func TestDecideNamesForeignPod(t *testing.T) {
	pods := []corev1.Pod{podFor(newAt(), "a", ownedByJob, named("at-7xk2p"))}
	ready := condition.FindReady(decideTrimmed(newAt(), pods, due, time.Minute).Status.Conditions)
	const want = "The cluster has no Pod of this At: render the environment, commit and sync. Pod at-7xk2p has its label but was not rendered from it, and is left alone"
	if ready.Message != want {
		t.Errorf("message %q", ready.Message)
	}
}

// Earlier versions gave some specs another digest. Recorded runs and Pods with that digest still belong
// to the spec.
func TestDecideKnowsEarlierDigests(t *testing.T) {
	at := newAt(func(at *cnatv1alpha1.At) {
		at.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1073741824")}
	})
	earlier := kindat.Digests(at.Spec)[1]
	if earlier == kindat.Digest(at.Spec) {
		t.Fatal("this version and earlier ones give the spec the same digest")
	}
	waiting := podFor(at, "a", func(pod *corev1.Pod) { pod.Annotations[kind.DigestAnnotation] = earlier })
	at.Status = decideTrimmed(at, []corev1.Pod{waiting}, due.Add(-time.Hour), time.Minute).Status
	if at.Status.Run.PodUID != "a" {
		t.Fatalf("armed %+v", at.Status.Run)
	}
	at.Status.Run.Digest = earlier
	if decision := decideTrimmed(at, []corev1.Pod{waiting}, due, time.Minute); !decision.Claim || decision.Status.Run.PodUID != "a" {
		t.Errorf("does not start: %+v", decision.Status)
	}

	at.Status.Phase = cnatv1alpha1.AtDone
	at.Status.Run.FinishedTime = wholeSeconds(due)
	reports(Complete, ReasonComplete)(at)
	next := []corev1.Pod{podFor(at, "b")}
	if decision := decideTrimmed(at, next, due.Add(time.Hour), time.Minute); decision.Open != nil || decision.Status.Phase != cnatv1alpha1.AtDone {
		t.Errorf("runs again: %+v", decision)
	}
	at.Status = cnatv1alpha1.AtStatus{Ran: []string{earlier}}
	if got := condition.FindReady(decideTrimmed(at, next, due.Add(time.Hour), time.Minute).Status.Conditions).Reason; got != ReasonAlreadyRan {
		t.Errorf("runs again: %s", got)
	}
}
