package at

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/gatehouse/kind"
	kindat "example.com/gatehouse/kind/at"
)

// trimPod keeps of a Pod what decisions are made from.
func trimPod(pod *corev1.Pod) *corev1.Pod {
	trimmed := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         pod.Namespace,
			Name:              pod.Name,
			GenerateName:      pod.GenerateName,
			UID:               pod.UID,
			ResourceVersion:   pod.ResourceVersion,
			CreationTimestamp: pod.CreationTimestamp,
			DeletionTimestamp: pod.DeletionTimestamp,
			OwnerReferences:   pod.OwnerReferences,
			Labels:            map[string]string{kindat.Label: pod.Labels[kindat.Label]},
			Annotations:       map[string]string{kind.DigestAnnotation: pod.Annotations[kind.DigestAnnotation]},
		},
		Spec:   corev1.PodSpec{SchedulingGates: pod.Spec.SchedulingGates},
		Status: corev1.PodStatus{Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message},
	}
	if scheduled := scheduledCondition(pod); scheduled.Type != "" {
		trimmed.Status.Conditions = []corev1.PodCondition{scheduled}
	}
	if command := commandStatus(pod); command.Name != "" {
		trimmed.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: command.Name, State: command.State}}
	}
	return trimmed
}
