package problem

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/render/manifest"
)

func object() manifest.Object {
	return manifest.Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{
		"kind": "Thing", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"size": "many", "ratio": 1.5, "on": true},
	}}}
}

func TestProblemsHaveTheCodeOfTheAPIServer(t *testing.T) {
	spec := field.NewPath("spec")
	for _, test := range []struct {
		err       *field.Error
		code      metav1.CauseType
		supported []string
		message   string
	}{
		{field.Required(spec.Child("name"), ""), metav1.CauseTypeFieldValueRequired, nil, "spec.name: Required value"},
		{
			field.NotSupported(spec.Child("mode"), "x", []string{"b", "a, b"}), metav1.CauseTypeFieldValueNotSupported,
			[]string{"a, b", "b"}, `spec.mode: Unsupported value: "x": supported values: "b", "a, b"`,
		},
		{field.Duplicate(spec.Child("list"), "x"), metav1.CauseTypeFieldValueDuplicate, nil, `spec.list: Duplicate value: "x"`},
		{
			field.TypeInvalid(spec.Child("size"), "string", `must be of type integer: "string"`), metav1.CauseTypeTypeInvalid, nil,
			"spec.size: must be of type integer, not string",
		},
		{
			field.TypeInvalid(spec.Child("on"), "bool", `must be of type string: "bool"`), metav1.CauseTypeTypeInvalid, nil,
			"spec.on: must be of type string, not boolean",
		},
	} {
		p := FromError(object(), test.err)
		if p.Code != test.code || p.Message != test.message || p.Warning {
			t.Errorf("%v has the code %q and the message %q", test.err, p.Code, p.Message)
		}
		slices.Sort(p.Supported)
		if !slices.Equal(p.Supported, test.supported) {
			t.Errorf("%v supports %q", test.err, p.Supported)
		}
	}
}

func TestUnknownFieldsHaveACodeAndASuggestion(t *testing.T) {
	for _, test := range []struct {
		known         []string
		hint, message string
	}{
		{[]string{"replicas", "paused"}, "", `unknown field "spec.replica": did you mean "replicas"?`},
		{[]string{"x", "a"}, "", `unknown field "spec.replica": write one of a, x`},
		{nil, "", `unknown field "spec.replica"`},
		{[]string{"replicas"}, "it is a field since Kubernetes 1.36", `unknown field "spec.replica": it is a field since Kubernetes 1.36`},
	} {
		p := UnknownField(object(), "spec.replica", test.known, test.hint)
		if p.Code != manifest.FieldUnknown || p.Field != "spec.replica" || p.Message != test.message {
			t.Errorf("of %q: %q, %q", test.known, p.Code, p.Message)
		}
	}
}

func TestUnknownFieldsWithAnEmptyKeyHaveAPath(t *testing.T) {
	for path, want := range map[string]string{"": "[]", "spec.": "spec[]", "spec[]": "spec[]", "spec.list[0].": "spec.list[0][]"} {
		p := UnknownField(object(), path, []string{"kind"}, "")
		if p.Field != want || p.Message != fmt.Sprintf("unknown field %q: write one of kind", want) {
			t.Errorf("%q: %q, %q", path, p.Field, p.Message)
		}
		if keys := manifest.SplitField(p.Field); keys[len(keys)-1] != "" {
			t.Errorf("%q has the keys %q", p.Field, keys)
		}
	}
}

func TestWarningsNameTheirField(t *testing.T) {
	for text, want := range map[string]string{
		"spec.size: is deprecated":               "spec.size",
		"spec.none.at: is deprecated":            "spec.none.at",
		"template.spec: is not of this object":   "",
		"annotation example.com/a is deprecated": "metadata.annotations[example.com/a]",
		"all of it is deprecated":                "",
	} {
		if p := FromWarning(object(), text); !p.Warning || p.Message != text || p.Field != want {
			t.Errorf("%q names %q, want %q", text, p.Field, want)
		}
	}
}
