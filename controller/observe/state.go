package observe

import (
	"regexp"
	"slices"
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
)

// state is how an object is.
type state struct {
	status kstatus.Status
	// reason says in a word why the status is not Current.
	reason string
	// available is the status of its condition Available; empty where it has none.
	available string
	// wake is when the state may be another though nothing changes; zero for never.
	wake time.Time
}

// stateOf returns what kstatus computes of an object, but that
//
//   - a Job is ready once it is complete, as it is for Flux and Argo CD: who waits for one
//     waits for its end;
//   - a Pod whose phase is Failed has failed, as it is for Argo CD;
//   - a Pod that no node takes has failed once so much time went by, by the time given;
//   - a Pod whose container was just restarted is not ready yet.
func stateOf(o kind.Object, now time.Time) state {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return state{status: kstatus.InProgressStatus, reason: "Unreadable"}
	}
	u := &unstructured.Unstructured{Object: content}
	h := state{available: availability(u)}
	result, err := kstatus.Compute(u)
	if err != nil { // a phase that nobody knows, conditions that are none
		h.status, h.reason = kstatus.InProgressStatus, "Unknown"
		return h
	}
	h.status, h.reason = result.Status, reasonOf(result)
	switch o := o.(type) {
	case *corev1.Pod:
		h.correctPod(o, now)
	case *batchv1.Job:
		if h.status == kstatus.CurrentStatus && !isComplete(o) {
			h.status, h.reason = kstatus.InProgressStatus, JobRunning
		}
	default:
		if h.status == kstatus.InProgressStatus && u.GroupVersionKind().Group == "apps" {
			h.reason = ReplicasNotReady
		}
	}
	return h
}

func (h *state) correctPod(pod *corev1.Pod, now time.Time) {
	switch {
	case h.status == kstatus.TerminatingStatus:
	case pod.Status.Phase == corev1.PodFailed:
		h.status, h.reason = kstatus.FailedStatus, failedReason(pod)
	case h.reason == PodUnschedulable || h.reason == PodNotScheduled:
		h.status, h.reason = kstatus.FailedStatus, PodUnschedulable
		if ends := pod.CreationTimestamp.Add(kstatus.ScheduleWindow); now.Before(ends) {
			h.status, h.reason, h.wake = kstatus.InProgressStatus, PodNotScheduled, ends
		}
	case h.status == kstatus.InProgressStatus:
		for _, c := range pod.Status.ContainerStatuses {
			if reason := status.WaitingReason(c); reason != "" {
				h.reason = reason
				break
			}
		}
	case h.status == kstatus.CurrentStatus:
		if stays := staysUp(pod); now.Before(stays) {
			h.status, h.reason, h.wake = kstatus.InProgressStatus, ContainerRestarted, stays
		}
	}
}

// staysUp returns when the containers of a Pod that were restarted have run for long enough to
// say that they stay up: one that crashes again and again is ready for a moment each time.
// It is zero where none was restarted.
func staysUp(pod *corev1.Pod) (stays time.Time) {
	const longEnough = 10 * time.Second
	for _, c := range pod.Status.ContainerStatuses {
		if c.RestartCount == 0 || c.State.Running == nil {
			continue
		}
		if since := c.State.Running.StartedAt.Add(longEnough); since.After(stays) {
			stays = since
		}
	}
	return stays
}

// failedReason is why a Pod failed, like Evicted, or one of its containers, like OOMKilled.
func failedReason(pod *corev1.Pod) string {
	if isReason(pod.Status.Reason) {
		return pod.Status.Reason
	}
	for _, c := range pod.Status.ContainerStatuses {
		ended := c.State.Terminated
		if ended != nil && ended.ExitCode != 0 && ended.Reason != "Error" && isReason(ended.Reason) {
			return ended.Reason
		}
	}
	return PodFailed
}

func isComplete(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
	})
}

func availability(u *unstructured.Unstructured) string {
	typed, err := kstatus.GetObjectWithConditions(u.Object)
	if err != nil {
		return ""
	}
	for _, c := range typed.Status.Conditions {
		if c.Type == Available {
			return string(c.Status)
		}
	}
	return ""
}

// reasonOf returns the reason of what kstatus computed. Messages have counts, which change with
// every Pod. A reason may be that of an object of whatever kind: what is not a word is
// replaced.
func reasonOf(result *kstatus.Result) string {
	switch {
	case result.Status == kstatus.TerminatingStatus:
		return ObjectTerminating
	case len(result.Conditions) > 0 && isReason(result.Conditions[0].Reason):
		return result.Conditions[0].Reason
	default:
		return result.Status.String()
	}
}

var word = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,99}$`)

func isReason(text string) bool { return word.MatchString(text) }
