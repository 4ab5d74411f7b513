package kindtest

import (
	"reflect"
	"testing"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
)

// Convert returns an object of an older version in the rendered version, with defaults. It fails the
// test for each field of the spec that back does not restore from the result: the Convert of the kind
// forgets it. Call it with an object that sets every field. Others must include the rendered version.
func Convert[N, T any, Q pointer[N], P pointer[T]](t testing.TB, k kind.Kind, object P, back func(Q) P,
	others ...kind.Kind) Q {
	t.Helper()
	old := toUnstructured(t, k.GVK(), object)
	stored, _ := expand(t, newKinds(t, k, others), old)
	converted := Q(new(N))
	convert(t, stored.Object, converted)
	restored := toUnstructured(t, k.GVK(), back(converted))
	for _, path := range changed(old.Object["spec"], restored.Object["spec"]) {
		t.Errorf("spec.%s: Convert forgets it: the conversion back from %s does not restore it", path,
			stored.GetAPIVersion())
	}
	return converted
}

// changed returns the paths of the scalars in a value that another value lacks.
func changed(value, other any) (paths []string) {
	decoding.Walk(value, func(path []string, value any) bool {
		kind := reflect.ValueOf(value).Kind()
		isScalar := kind != reflect.Map && kind != reflect.Slice
		if isScalar && !reflect.DeepEqual(value, decoding.At(other, path)) {
			paths = append(paths, manifest.JoinField(path))
		}
		return true
	})
	return paths
}
