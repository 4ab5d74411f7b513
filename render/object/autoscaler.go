package object

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Autoscaler decides how many Pods a workload has, unless that is to have none at all.
type Autoscaler struct {
	// Target is the workload, with its namespace.
	Target   ID
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
	a.Target = ID{Group(target("apiVersion", "apps/v1")), target("kind", "Deployment"), Object{Unstructured: o}.NamespaceOrDefault(), target("name", "")}
	return a, true
}

// Number is that of a field; another where there is none.
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
