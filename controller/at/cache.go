package at

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/render/kinds"
)

// podsByAt is the index of Pods by the name of the At that they were rendered from.
const podsByAt = "at"

func atOf(pod client.Object) []string {
	return []string{pod.GetLabels()[kinds.AtLabel]}
}

// PodCache has the cache hold the Pods of Ats only, and of those only what
// decisions are made from.
func PodCache() cache.ByObject {
	label, err := labels.Parse(kinds.AtLabel) // that it exists
	if err != nil {                           // it is a constant
		panic(err)
	}
	return cache.ByObject{Label: label, Transform: trim}
}

func trim(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	trimmed := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         pod.Namespace,
			Name:              pod.Name,
			UID:               pod.UID,
			ResourceVersion:   pod.ResourceVersion,
			CreationTimestamp: pod.CreationTimestamp,
			DeletionTimestamp: pod.DeletionTimestamp,
			Labels:            map[string]string{kinds.AtLabel: pod.Labels[kinds.AtLabel]},
			Annotations:       map[string]string{kinds.DigestAnnotation: pod.Annotations[kinds.DigestAnnotation]},
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
	return trimmed, nil
}
