package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Read returns the Pod at a path of a rendered object, such as "spec", "template" of a Deployment. Without
// a path, it returns the object itself. The Pod has only its spec.
func Read(o *unstructured.Unstructured, path ...string) *corev1.Pod {
	spec, _, _ := unstructured.NestedFieldNoCopy(o.Object, append(path, "spec")...)
	pod := &corev1.Pod{}
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"spec": spec}, pod) // it is valid
	return pod
}

// Container returns the container of a name, or the zero Container.
func Container(pod *corev1.Pod, name string) corev1.Container {
	for _, container := range pod.Spec.Containers {
		if container.Name == name {
			return container
		}
	}
	return corev1.Container{}
}

// Requests returns the requests of a Pod for the scheduler, with init containers, sidecars and overhead.
// Limits count as missing requests. It changes the Pod.
func Requests(pod *corev1.Pod) corev1.ResourceList {
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			addMissing(&containers[i].Resources.Requests, containers[i].Resources.Limits)
		}
	}
	// The API server completes the requests of a whole Pod in the same order.
	if all := pod.Spec.Resources; all != nil && len(all.Limits) > 0 {
		addMissing(&all.Requests, resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{}))
		addMissing(&all.Requests, all.Limits)
	}
	return resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
}

func addMissing(to *corev1.ResourceList, from corev1.ResourceList) {
	if *to == nil {
		*to = corev1.ResourceList{}
	}
	for name, quantity := range from {
		if _, ok := (*to)[name]; !ok {
			(*to)[name] = quantity
		}
	}
}
