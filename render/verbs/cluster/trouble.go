package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/render/manifest"
)

// workload has the fields that the kinds of the groups apps and batch have in common.
type workload struct {
	Spec struct {
		Selector *metav1.LabelSelector `json:"selector"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// trouble returns what keeps a workload from being ready, to follow a message: the state of one
// of its Pods, or why it has none. It is empty for other objects, and where the Pods must not
// be listed.
func (a *applier) trouble(ctx context.Context, w *awaited) string {
	live, err := a.cluster.find(ctx, w.id)
	if w.isGone || err != nil || live == nil || !slices.Contains([]string{"apps", "batch"}, w.id.Group) {
		return ""
	}
	fields := manifest.As[workload](live)
	selector, err := metav1.LabelSelectorAsSelector(fields.Spec.Selector)
	pods := &corev1.PodList{}
	if err != nil || fields.Spec.Selector == nil || a.cluster.List(ctx, pods, client.InNamespace(w.id.Namespace), client.MatchingLabelsSelector{Selector: selector}) != nil {
		return ""
	}
	state := ""
	for _, c := range fields.Status.Conditions {
		if c.Type == "ReplicaFailure" && c.Status == metav1.ConditionTrue {
			state = c.Reason + ": " + c.Message
		}
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if trouble := podTrouble(pod); trouble != "" && pod.DeletionTimestamp == nil {
			state = fmt.Sprintf("Pod %s: %s", pod.Name, trouble)
			break
		}
	}
	if state == "" {
		return ""
	}
	return ": " + strings.TrimRight(state, ".: \n")
}

// podTrouble returns what keeps a Pod from being ready; empty where it is ready, or has ended
// well.
func podTrouble(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		switch {
		case condition.Type == corev1.PodReady && (condition.Status == corev1.ConditionTrue || condition.Reason == "PodCompleted"):
			return ""
		case condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse:
			return condition.Reason + ": " + condition.Message
		}
	}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		waiting := cmp.Or(container.State.Waiting, &corev1.ContainerStateWaiting{})
		ended := cmp.Or(container.State.Terminated, container.LastTerminationState.Terminated)
		switch {
		case ended != nil && ended.ExitCode != 0 && container.State.Running == nil:
			return fmt.Sprintf("%s: container %s exited with %d", cmp.Or(waiting.Reason, ended.Reason), container.Name, ended.ExitCode)
		case waiting.Reason != "":
			return waiting.Reason + ": " + waiting.Message
		}
	}
	return cmp.Or(pod.Status.Reason, string(pod.Status.Phase)+", but not ready")
}
