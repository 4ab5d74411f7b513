package manifest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind/pod"
)

// Autoscaler decides how many Pods a workload has, unless that is to have none at all.
type Autoscaler struct {
	// Target is the workload, with its namespace.
	Target   ID
	Min, Max int64
}

// ReadAutoscaler reads a HorizontalPodAutoscaler, of any version, or a ScaledObject of KEDA.
func ReadAutoscaler(o *unstructured.Unstructured) (Autoscaler, bool) {
	a, ok := pod.ReadAutoscaler(o)
	return Autoscaler{ID(a.Target), a.Min, a.Max}, ok
}

// Number returns the number in a field, otherwise if it has none.
func Number(o *unstructured.Unstructured, otherwise int64, path ...string) int64 {
	return pod.Number(o, otherwise, path...)
}
