package at

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/kind"
	kindat "example.com/gatehouse/kind/at"
)

// trimAt reduces an At to the fields that decisions use, and to the conditions that Gatehouse owns.
// One annotation holds the digests of its spec.
func trimAt(at *cnatv1alpha1.At) {
	meta := setup.Identity(at)
	meta.Annotations = map[string]string{kind.DigestAnnotation: strings.Join(kindat.Digests(at.Spec), " ")}
	if manager, ok := at.Labels[kind.ManagedByLabel]; ok {
		meta.Labels = map[string]string{kind.ManagedByLabel: manager}
	}
	at.ObjectMeta = meta
	at.Spec = cnatv1alpha1.AtSpec{
		Schedule:                at.Spec.Schedule,
		Suspend:                 at.Spec.Suspend,
		StartingDeadlineSeconds: at.Spec.StartingDeadlineSeconds,
	}
	at.Status.Conditions = slices.DeleteFunc(at.Status.Conditions, func(c metav1.Condition) bool {
		return !slices.Contains(conditionTypes, c.Type)
	})
}

// digests returns the digests that a run or a Pod of a trimmed At may have: first this version's, then
// earlier ones'.
func digests(at *cnatv1alpha1.At) []string {
	return strings.Fields(at.Annotations[kind.DigestAnnotation])
}

// trimPod reduces a Pod to the fields that decisions use.
func trimPod(pod *corev1.Pod) *corev1.Pod {
	trimmed := &corev1.Pod{
		ObjectMeta: setup.Identity(pod),
		Spec:       corev1.PodSpec{SchedulingGates: pod.Spec.SchedulingGates},
		Status:     corev1.PodStatus{Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message},
	}
	trimmed.GenerateName, trimmed.OwnerReferences = pod.GenerateName, pod.OwnerReferences
	trimmed.Labels = map[string]string{kindat.Label: pod.Labels[kindat.Label]}
	trimmed.Annotations = map[string]string{kind.DigestAnnotation: pod.Annotations[kind.DigestAnnotation]}
	if scheduled := scheduledCondition(pod); scheduled.Type != "" {
		trimmed.Status.Conditions = []corev1.PodCondition{scheduled}
	}
	if command := commandStatus(pod); command.Name != "" {
		trimmed.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: command.Name, State: command.State}}
	}
	return trimmed
}
