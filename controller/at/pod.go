package at

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"example.com/gatehouse/controller/status"
	kindat "example.com/gatehouse/kind/at"
)

// longestLog is the number of bytes that a message quotes from the end of a failed command's log.
const longestLog = 512

// outcome is the end of a Pod.
type outcome struct {
	reason   string
	message  string
	exitCode *int32
	finished time.Time
}

// podOutcome returns the outcome of a started Pod; nil while it runs.
func podOutcome(pod *TrimmedPod, now time.Time) *outcome {
	ended := outcome{finished: now}
	terminated := pod.status.command.Terminated
	if terminated != nil {
		ended.exitCode = ptr.To(terminated.ExitCode)
		if !terminated.FinishedAt.IsZero() {
			ended.finished = terminated.FinishedAt.Time
		}
	}
	switch {
	case pod.status.phase == corev1.PodSucceeded:
		ended.reason = ReasonComplete
		ended.message = fmt.Sprintf("The command succeeded in Pod %s", pod.Name)
	case pod.status.phase != corev1.PodFailed:
		return nil
	case pod.status.reason == "DeadlineExceeded":
		ended.reason = ReasonActiveDeadlineExceeded
		ended.message = fmt.Sprintf("The command in Pod %s ran for longer than spec.activeDeadlineSeconds", pod.Name)
	case terminated != nil && terminated.ExitCode != 0 && pod.status.reason == "":
		ended.reason = ReasonCommandFailed
		ended.message = fmt.Sprintf("The command in Pod %s exited with %d%s", pod.Name, terminated.ExitCode,
			endOfLog(terminated.Message))
	default:
		ended.reason = ReasonPodFailed
		ended.message = fmt.Sprintf("Pod %s failed: %s %s", pod.Name,
			cmp.Or(pod.status.reason, "for no stated reason:"), cmp.Or(pod.status.message, "see its events"))
	}
	return &ended
}

func endOfLog(log string) string {
	log = strings.TrimSpace(log)
	if len(log) > longestLog {
		log = strings.ToValidUTF8(log[len(log)-longestLog:], "")
	}
	if log == "" {
		return ""
	}
	return ": " + log
}

// podProgress returns the reason and message of a started Pod that has not ended. States that come and
// go while a Pod starts or restarts have one reason.
func podProgress(pod *TrimmedPod) (reason, message string) {
	for _, gate := range pod.gates {
		if gate.Name != kindat.Gate {
			return ReasonGated, fmt.Sprintf("Pod %s waits for its scheduling gate %s", pod.Name, gate.Name)
		}
	}
	scheduled := pod.status.scheduled
	if scheduled.Status == corev1.ConditionFalse && scheduled.Reason == corev1.PodReasonUnschedulable {
		return ReasonUnschedulable, fmt.Sprintf("No node takes Pod %s: see its events", pod.Name)
	}
	switch status.WaitingReason(pod.status.command) {
	case ReasonImageNotPulled:
		return ReasonImageNotPulled, fmt.Sprintf("The image of Pod %s cannot be pulled: see its events", pod.Name)
	case ReasonContainerNotCreated:
		return ReasonContainerNotCreated,
			fmt.Sprintf("The container of Pod %s cannot be created: see its events", pod.Name)
	}
	return ReasonRunning, fmt.Sprintf("The start of Pod %s is on record, and nothing holds it up", pod.Name)
}

// openedTime returns about when the gate of a started Pod was opened: the scheduler takes a Pod moments
// later.
func openedTime(pod *TrimmedPod, now time.Time) time.Time {
	if scheduled := pod.status.scheduled; scheduled.Status == corev1.ConditionTrue {
		return scheduled.LastTransitionTime.Time
	}
	return now
}
