package registry_test

import (
	"errors"
	"testing"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/kind/registry/testdata/everything"
)

func TestConvertRefusesWrongResults(t *testing.T) {
	type object = *everything.Everything
	for name, c := range map[string]struct {
		convert func(object) (kind.Object, error)
		want    string // without the name of the object
	}{
		"an error":      {func(object) (kind.Object, error) { return nil, errors.New("spec.map: no") }, "spec.map: no"},
		"panic":         {func(object) (kind.Object, error) { panic("no") }, "Convert panics: no"},
		"nothing":       {func(object) (kind.Object, error) { return nil, nil }, "Convert returns nil: have it return an object of the rendered version, or an error"},
		"a nil pointer": {func(object) (kind.Object, error) { return object(nil), nil }, "Convert returns nil: have it return an object of the rendered version, or an error"},
		"another kind": {
			func(object) (kind.Object, error) { return at.Kind.New(), nil },
			"Convert returns a *v1alpha1.At: have it return an object of the rendered version",
		},
		"half a character": {
			func(object) (kind.Object, error) {
				o := &everything.Everything{}
				o.Spec.Text = "Grüße"[:3]
				return o, nil
			},
			`*everything.Everything "" has text that is not UTF-8: cut texts between characters`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			converts := func(d *definition) {
				d.Convert = c.convert
				d.Expand = nil
				d.Children = nil
			}
			kinds, err := registry.New(ofVersions("v1", converts), ofVersions("v2"), at.Kind)
			if err != nil {
				t.Fatal(err)
			}
			_, err = kinds.Convert(newEverything(t, "web"))
			if err == nil {
				t.Fatal("no error")
			}
			want := "Everything web: " + c.want
			if got := err.Error(); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestStringLeavesOutOlderVersions(t *testing.T) {
	kinds, err := registry.New(ofVersions("v1", converts), at.Kind, ofVersions("v2"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "an At or an Everything"
	if got := kinds.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
