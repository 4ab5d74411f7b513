package memo

import (
	"hash/maphash"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Same returns the object of the first call with an equal one. What is kept by the pointer of an object is then found
// for the objects of another rendering, too.
func Same(m *Memo, u *unstructured.Unstructured) *unstructured.Unstructured {
	if m == nil {
		return u
	}
	type key uint64
	first := Get(m, key(hashOf(u.Object)), func() *unstructured.Unstructured { return u })
	if first != u && !reflect.DeepEqual(first.Object, u.Object) {
		return u
	}
	return first
}

var seed = maphash.MakeSeed()

// hashOf returns a hash of a JSON value. It is the same for equal values.
func hashOf(value any) (hash uint64) {
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			hash += maphash.String(seed, key) * (hashOf(item) | 1)
		}
	case []any:
		for _, item := range value {
			hash = hash*31 + hashOf(item)
		}
	default:
		hash = maphash.Comparable(seed, value)
	}
	return hash
}
