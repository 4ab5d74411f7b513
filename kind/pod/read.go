package pod

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// Workload identifies an object that makes Pods.
type Workload struct{ Group, Kind, Namespace, Name string }

// WorkloadOf returns the identity of an object as a Workload.
func WorkloadOf(o *unstructured.Unstructured) Workload {
	return Workload{o.GroupVersionKind().Group, o.GetKind(), cmp.Or(o.GetNamespace(), metav1.NamespaceDefault),
		o.GetName()}
}

// Autoscaler decides the number of Pods of a workload, unless the workload asks for 0.
type Autoscaler struct {
	Target   Workload
	Min, Max int64
}

// ReadAutoscaler reads a HorizontalPodAutoscaler, of any version, or a ScaledObject of KEDA.
func ReadAutoscaler(o *unstructured.Unstructured) (a Autoscaler, ok bool) {
	switch gvk := o.GroupVersionKind(); {
	case gvk.Group == "autoscaling" && gvk.Kind == "HorizontalPodAutoscaler":
		a.Min = Number(o, 1, "spec", "minReplicas")
		a.Max = Number(o, 0, "spec", "maxReplicas")
	case gvk.Group == "keda.sh" && gvk.Kind == "ScaledObject":
		a.Min = Number(o, 0, "spec", "minReplicaCount")
		a.Max = Number(o, 100, "spec", "maxReplicaCount")
	default:
		return a, false
	}
	target := func(field, otherwise string) string {
		value, _, _ := unstructured.NestedString(o.Object, "spec", "scaleTargetRef", field)
		return cmp.Or(value, otherwise)
	}
	group, _, hasGroup := strings.Cut(target("apiVersion", "apps/v1"), "/")
	if !hasGroup {
		group = ""
	}
	a.Target = Workload{group, target("kind", "Deployment"), cmp.Or(o.GetNamespace(), metav1.NamespaceDefault),
		target("name", "")}
	return a, true
}

// Number returns the number at a path of an object, or a default.
func Number(o *unstructured.Unstructured, otherwise int64, path ...string) int64 {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	switch value := value.(type) {
	case int64:
		return value
	case float64:
		return int64(value)
	}
	return otherwise
}
