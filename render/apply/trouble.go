package apply

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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// trouble says what keeps a workload from being ready, as kubectl describe would: the state of
// a Pod of it, or why it has none. It is empty where nobody knows, as for want of a right.
func (a *applier) trouble(ctx context.Context, w *awaited) string {
	live, err := a.find(ctx, w.id)
	if err != nil || live == nil {
		return ""
	}
	selector := podsOf(live)
	if selector == nil {
		return ""
	}
	pods := &corev1.PodList{}
	if err := a.cluster.List(ctx, pods, client.InNamespace(w.id.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return ""
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		state, message := stateOf(pod)
		if state == "" || pod.DeletionTimestamp != nil {
			continue
		}
		message = cmp.Or(message, a.lastWarning(ctx, pod.Namespace, pod.UID), "nothing more is known")
		return fmt.Sprintf("Pod %s: %s: %s: see kubectl describe pod %s --namespace %s", pod.Name, state, strings.TrimRight(message, ".: \n"), pod.Name, pod.Namespace)
	}
	return fmt.Sprintf("%s: see kubectl describe %s %s --namespace %s", whyFew(live, pods.Items), strings.ToLower(w.id.Kind), w.id.Name, w.id.Namespace)
}

// podsOf selects the Pods of a workload; nil of what is none.
func podsOf(live *unstructured.Unstructured) labels.Selector {
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

// stateOf is what keeps a Pod from being ready, and what the cluster says about it; empty where
// it is ready, or has ended well.
func stateOf(pod *corev1.Pod) (state, message string) {
	for _, condition := range pod.Status.Conditions {
		switch {
		case condition.Type == corev1.PodReady && (condition.Status == corev1.ConditionTrue || condition.Reason == "PodCompleted"):
			return "", ""
		case condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse:
			return condition.Reason, condition.Message
		}
	}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		ended := cmp.Or(container.State.Terminated, container.LastTerminationState.Terminated)
		switch waiting := container.State.Waiting; {
		case waiting != nil && ended != nil:
			return waiting.Reason, fmt.Sprintf("container %s exited with %d", container.Name, ended.ExitCode)
		case waiting != nil:
			return waiting.Reason, waiting.Message
		case container.State.Terminated != nil && ended.ExitCode != 0:
			return ended.Reason, fmt.Sprintf("container %s exited with %d", container.Name, ended.ExitCode)
		}
	}
	return cmp.Or(pod.Status.Reason, string(pod.Status.Phase)+", but not ready"), pod.Status.Message
}

// lastWarning is what the last event says that warns of an object.
func (a *applier) lastWarning(ctx context.Context, namespace string, uid types.UID) string {
	events := &corev1.EventList{}
	if err := a.cluster.List(ctx, events, client.InNamespace(namespace), client.MatchingFields{"involvedObject.uid": string(uid), "type": corev1.EventTypeWarning}); err != nil || len(events.Items) == 0 {
		return ""
	}
	last := slices.MaxFunc(events.Items, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	return last.Message
}

// whyFew is why a workload lacks Pods, though no Pod says what is wrong.
func whyFew(live *unstructured.Unstructured, pods []corev1.Pod) string {
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, condition := range conditions {
		if c, _ := condition.(map[string]any); c["type"] == "ReplicaFailure" && c["status"] == "True" {
			return fmt.Sprintf("%v: %v", c["reason"], c["message"])
		}
	}
	if seconds, _, _ := unstructured.NestedInt64(live.Object, "spec", "minReadySeconds"); seconds > 0 && len(pods) > 0 {
		return fmt.Sprintf("its Pods have yet to be ready for %d seconds (spec.minReadySeconds)", seconds)
	}
	return "no Pod of it says why"
}
