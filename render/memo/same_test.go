package memo

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestSameReturnsTheFirstOfEqualObjects(t *testing.T) {
	object := func(replicas any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"kind": "A", "spec": map[string]any{
			"replicas": replicas, "items": []any{"a", map[string]any{"b": true, "c": nil}}}}}
	}
	m, first := &Memo{}, object(int64(1))
	if Same(m, first) != first || Same(m, object(int64(1))) != first {
		t.Error("an equal object is not the first one")
	}
	for _, other := range []any{int64(2), float64(1), "1", nil, []any{}} {
		if o := object(other); Same(m, o) != o {
			t.Errorf("an object with %v is that with int64(1)", other)
		}
	}
	if o := object(int64(1)); Same(nil, o) != o {
		t.Error("no memo keeps an object")
	}
}
