package pod

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

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
		a.Min, a.Max = Number(o, 1, "spec", "minReplicas"), Number(o, 0, "spec", "maxReplicas")
	case gvk.Group == "keda.sh" && gvk.Kind == "ScaledObject":
		a.Min, a.Max = Number(o, 0, "spec", "minReplicaCount"), Number(o, 100, "spec", "maxReplicaCount")
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
