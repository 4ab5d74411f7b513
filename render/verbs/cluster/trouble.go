package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// trouble returns what keeps a workload from being ready, to follow a message: the state of one
// of its Pods, or why it has none. It is empty for other objects, and where the Pods must not
// be listed.
func (a *applier) trouble(ctx context.Context, w *awaited) string {
	live, err := a.cluster.find(ctx, w.id)
	if w.isGone || err != nil || live == nil {
		return ""
	}
	selector := podSelector(live)
	pods := &corev1.PodList{}
	if selector == nil || a.cluster.List(ctx, pods, client.InNamespace(w.id.Namespace), client.MatchingLabelsSelector{Selector: selector}) != nil {
		return ""
	}
	kind, name, state := strings.ToLower(w.id.Kind), w.id.Name, replicaFailure(live)
	for i := range pods.Items {
		pod := &pods.Items[i]
		if trouble := podTrouble(pod); trouble != "" && pod.DeletionTimestamp == nil {
			kind, name, state = "pod", pod.Name, fmt.Sprintf("Pod %s: %s", pod.Name, trouble)
			break
		}
	}
	if state != "" {
		state = ": " + strings.TrimRight(state, ".: \n")
	}
	return fmt.Sprintf("%s: see kubectl describe %s %s --namespace %s", state, kind, name, w.id.Namespace)
}

// podSelector selects the Pods of a workload; it is nil for other objects.
func podSelector(live *unstructured.Unstructured) labels.Selector {
	fields, isThere, _ := unstructured.NestedMap(live.Object, "spec", "selector")
	if group := live.GroupVersionKind().Group; !isThere || group != "apps" && group != "batch" {
		return nil
	}
	selector := &metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, selector); err != nil {
		return nil
	}
	selected, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil
	}
	return selected
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

// replicaFailure returns why a workload cannot create Pods; empty where it can.
func replicaFailure(live *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, condition := range conditions {
		if c, _ := condition.(map[string]any); c["type"] == "ReplicaFailure" && c["status"] == "True" {
			return fmt.Sprintf("%v: %v", c["reason"], c["message"])
		}
	}
	return ""
}
