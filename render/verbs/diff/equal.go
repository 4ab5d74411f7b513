package diff

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"example.com/gatehouse/render/decoding"
)

// equal reports whether two objects are the same to a cluster.
func equal(a, b *unstructured.Unstructured) bool {
	return text(a) == text(b) || equality.Semantic.DeepEqual(typed(a), typed(b))
}

// typed returns an object of a built-in kind as its Go type, in which 1000m and 1 are one
// quantity. It returns any other object, and one with unknown fields, as it is.
func typed(o *unstructured.Unstructured) any {
	versioned, err := scheme.Scheme.New(o.GroupVersionKind())
	if err != nil || hasHugeQuantity(o.Object) {
		return o
	}
	const returnUnknownFields = true
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, versioned, returnUnknownFields); err != nil {
		return o
	}
	return versioned
}

func hasHugeQuantity(value any) bool {
	switch value := value.(type) {
	case string:
		return decoding.IsHugeQuantity(value)
	case []any:
		return slices.ContainsFunc(value, hasHugeQuantity)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(value)), hasHugeQuantity)
	}
	return false
}
