package kind_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/testdata/everything"
)

var valid = kind.Definition[everything.Everything]{
	GVK:         everything.GroupVersion.WithKind("Everything"),
	AddToScheme: everything.AddToScheme,
	CRD:         everything.CRD,
	Children:    []kind.Child{{GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap")}},
	Expand:      func(*everything.Everything) ([]kind.Object, error) { return nil, nil },
}

// Nothing that controller-gen writes of a Go type is refused.
func TestEverything(t *testing.T) {
	if _, err := kind.New(kind.Define(valid)); err != nil {
		t.Error(err)
	}
}
