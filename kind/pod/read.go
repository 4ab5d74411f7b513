package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Read returns the Pod in a rendered object: at a path, such as spec and template of a
// Deployment, or the object itself. It has the spec of the Pod, and nothing else.
func Read(o *unstructured.Unstructured, path ...string) *corev1.Pod {
	spec, _, _ := unstructured.NestedFieldNoCopy(o.Object, append(path, "spec")...)
	pod := &corev1.Pod{}
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"spec": spec}, pod) // the API server takes it
	return pod
}

// Container returns the container of a name, a zero one where the Pod has none.
func Container(pod *corev1.Pod, name string) corev1.Container {
	for _, container := range pod.Spec.Containers {
		if container.Name == name {
			return container
		}
	}
	return corev1.Container{}
}

// Requests returns what a Pod requests, as the scheduler sees it: the limits where there are no
// requests, with init containers, sidecars and overhead. It changes the Pod.
func Requests(pod *corev1.Pod) corev1.ResourceList {
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			addMissing(&containers[i].Resources.Requests, containers[i].Resources.Limits)
		}
	}
	// As the API server fills in the requests of a whole Pod: those of its containers come first.
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
