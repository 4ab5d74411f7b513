package memcached

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/gatehouse/render/kinds"
)

// trimDeployment keeps of a Deployment what decisions are made from.
func trimDeployment(deployment *appsv1.Deployment) *appsv1.Deployment {
	trimmed := &appsv1.Deployment{
		ObjectMeta: trimMeta(deployment.ObjectMeta),
		Spec:       appsv1.DeploymentSpec{Replicas: deployment.Spec.Replicas},
		Status:     deployment.Status,
	}
	trimmed.Annotations = map[string]string{kinds.DigestAnnotation: deployment.Annotations[kinds.DigestAnnotation]}
	return trimmed
}

// trimPod keeps of a Pod whether it is ready.
func trimPod(pod *corev1.Pod) *corev1.Pod {
	trimmed := &corev1.Pod{ObjectMeta: trimMeta(pod.ObjectMeta)}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			trimmed.Status.Conditions = []corev1.PodCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return trimmed
}

func trimMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:         m.Namespace,
		Name:              m.Name,
		UID:               m.UID,
		ResourceVersion:   m.ResourceVersion,
		Generation:        m.Generation,
		DeletionTimestamp: m.DeletionTimestamp,
		Labels:            map[string]string{kinds.MemcachedLabel: m.Labels[kinds.MemcachedLabel]},
	}
}
