package registry_test

import (
	"slices"
	"testing"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/kind/registry/testdata/everything"
)

// A field that somebody wrote and without which Convert returns the same is lost, unless its value
// is zero or a default of the new version.
func TestForgetting(t *testing.T) {
	old := ofVersions("v1", converts, func(d *definition) {
		d.Convert = func(e *everything.Everything) (kind.Object, error) {
			return &everything.Everything{Spec: everything.Spec{Text: e.Spec.Text}}, nil
		}
	})
	kinds, err := registry.New(old, ofVersions("v2"))
	if err != nil {
		t.Fatal(err)
	}
	written := newEverything(t, "web")
	written.Object["spec"] = map[string]any{"text": "kept", "int32": int64(7), "int": int64(0), "uint16": int64(3), "env": []any{map[string]any{"name": "a", "value": "b"}}}
	converted, err := kinds.Convert(written)
	if err != nil {
		t.Fatal(err)
	}
	defaulted := converted.DeepCopy()
	defaulted.Object["spec"] = map[string]any{"text": "kept", "int": int64(3)} // 3 is a default
	var forgetting registry.Forgetting
	for range 2 {
		got := forgetting.Fields(kinds, written, written, converted, defaulted)
		if want := []string{"spec.env[0].name", "spec.env[0].value", "spec.int32"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
