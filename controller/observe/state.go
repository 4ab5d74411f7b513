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

// state is the health of one live object.
type state struct {
	status kstatus.Status
	// reason explains in one word a status other than Current.
	reason string
	// available is the status of the condition Available; empty without that condition.
	available string
	// wake is the time at which the state may differ although nothing changed; zero for never.
	wake time.Time
}

// stateOf returns the result of kstatus, with these exceptions:
//
//   - A Job is ready once it is complete, as for Flux and Argo CD: waiting for a Job means
//     waiting for its end.
//   - A Pod of phase Failed has failed, as for Argo CD.
//   - A Pod that no node takes fails after the window of kstatus, measured with the given
//     time.
//   - A Pod with a container that has just restarted is not ready yet.
func stateOf(o kind.Object, now time.Time) state {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return state{status: kstatus.InProgressStatus, reason: "Unreadable"}
	}
	u := &unstructured.Unstructured{Object: content}
	h := state{available: availability(u)}
	result, err := kstatus.Compute(u)
	if err != nil { // an unknown phase, or malformed conditions
		h.status = kstatus.InProgressStatus
		h.reason = "Unknown"
		return h
	}
	h.status = result.Status
	h.reason = reasonOf(result)
	switch o := o.(type) {
	case *corev1.Pod:
		h.correctPod(o, now)
	case *batchv1.Job:
		if h.status == kstatus.CurrentStatus && !isComplete(o) {
			h.status = kstatus.InProgressStatus
			h.reason = JobRunning
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
		h.status = kstatus.FailedStatus
		h.reason = failedReason(pod)
	case h.reason == PodUnschedulable || h.reason == PodNotScheduled:
		h.status = kstatus.FailedStatus
		h.reason = PodUnschedulable
		if ends := pod.CreationTimestamp.Add(kstatus.ScheduleWindow); now.Before(ends) {
			h.status = kstatus.InProgressStatus
			h.reason = PodNotScheduled
			h.wake = ends
		}
	case h.status == kstatus.InProgressStatus:
		for _, c := range pod.Status.ContainerStatuses {
			if reason := status.WaitingReason(c.State); reason != "" {
				h.reason = reason
				break
			}
		}
	case h.status == kstatus.CurrentStatus:
		if stays := staysUp(pod); now.Before(stays) {
			h.status = kstatus.InProgressStatus
			h.reason = ContainerRestarted
			h.wake = stays
		}
	}
}

// staysUp returns the time at which the restarted containers of a Pod have run for long enough to
// count as ready: a crashing container is ready for a moment after each restart. It is zero if none
// restarted.
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

// failedReason returns the reason of a failed Pod, like Evicted, or of one of its containers, like
// OOMKilled.
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

// reasonOf returns the reason of a kstatus result. Messages are no reasons: they have counts, which
// change with every Pod. An object of any kind may set the reason, so that a reason that is not one
// word is replaced.
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
