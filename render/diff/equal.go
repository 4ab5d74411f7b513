package diff

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"example.com/gatehouse/render/object"
)

// equal says whether two objects are the same to a cluster.
func equal(a, b *unstructured.Unstructured) bool {
	return text(a) == text(b) || equality.Semantic.DeepEqual(typed(a), typed(b))
}

// typed is an object of a built-in kind, in which 1000m and 1 are one quantity; any other,
// and one with fields that the kind does not have, as it is.
func typed(o *unstructured.Unstructured) any {
	versioned, err := scheme.Scheme.New(o.GroupVersionKind())
	if err != nil {
		return o
	}
	content := object.WithoutEndless(o.Object)
	const returnUnknownFields = true
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, versioned, returnUnknownFields); err != nil {
		return o
	}
	return versioned
}
