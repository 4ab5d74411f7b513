package memcached

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/render/kinds"
)

// podsByMemcached is the index of Pods by the name of the Memcached that they serve.
const podsByMemcached = "memcached"

func memcachedOf(object client.Object) []string {
	return []string{servedBy(object)}
}

// DeploymentCache has a cache hold the Deployments of Memcacheds only, and of
// those only what decisions are made from.
func DeploymentCache() cache.ByObject {
	return cache.ByObject{Label: labelled(), Transform: trimDeployment}
}

// PodCache is the same for their Pods.
func PodCache() cache.ByObject {
	return cache.ByObject{Label: labelled(), Transform: trimPod}
}

func labelled() labels.Selector {
	label, err := labels.Parse(kinds.MemcachedLabel) // that it exists
	if err != nil {                                  // it is a constant
		panic(err)
	}
	return label
}

func trimDeployment(object any) (any, error) {
	deployment, ok := object.(*appsv1.Deployment)
	if !ok {
		return object, nil
	}
	trimmed := &appsv1.Deployment{
		ObjectMeta: trimMeta(deployment.ObjectMeta),
		Spec:       appsv1.DeploymentSpec{Replicas: deployment.Spec.Replicas},
		Status:     deployment.Status,
	}
	trimmed.Annotations = map[string]string{kinds.DigestAnnotation: deployment.Annotations[kinds.DigestAnnotation]}
	return trimmed, nil
}

func trimPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	trimmed := &corev1.Pod{ObjectMeta: trimMeta(pod.ObjectMeta)}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			trimmed.Status.Conditions = []corev1.PodCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return trimmed, nil
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
