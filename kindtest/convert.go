package kindtest

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/kind"
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
	for _, path := range changed(old.Object["spec"], restored.Object["spec"], field.NewPath("spec")) {
		t.Errorf("%s: Convert forgets it: the conversion back from %s does not restore it", path,
			stored.GetAPIVersion())
	}
	return converted
}

// changed returns the paths of the scalars in a value that another value lacks.
func changed(value, other any, path *field.Path) (paths []*field.Path) {
	switch value := value.(type) {
	case map[string]any:
		others, _ := other.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			paths = append(paths, changed(value[name], others[name], path.Child(name))...)
		}
	case []any:
		others, _ := other.([]any)
		for i, item := range value {
			var counterpart any
			if i < len(others) {
				counterpart = others[i]
			}
			paths = append(paths, changed(item, counterpart, path.Index(i))...)
		}
	default:
		if !reflect.DeepEqual(value, other) {
			paths = append(paths, path)
		}
	}
	return paths
}
