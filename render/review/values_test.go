package review

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/review/effect"
)

func TestUnknownValuesAreARisk(t *testing.T) {
	object := func(value string, annotations map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": "a", "namespace": "shop", "annotations": annotations},
			"data":     map[string]any{"a": value},
		}}
	}
	off := map[string]any{flux.Switch: flux.Off}
	for name, test := range map[string]struct {
		before, after *unstructured.Unstructured
		values        *flux.PostBuild
		want          string
	}{
		"unknown":            {object("x", nil), object("${B} ${A:=x}", nil), &flux.PostBuild{}, "has 2 variables of \x00A\x00, \x00B\x00, which Flux puts in place"},
		"known":              {object("x", nil), object("${A}", nil), &flux.PostBuild{Values: map[string]string{}}, ""},
		"no variables":       {object("x", nil), object("A", nil), &flux.PostBuild{}, ""},
		"switched off":       {object("x", nil), object("${A}", off), &flux.PostBuild{}, ""},
		"not postBuild":      {object("x", nil), object("${A}", nil), nil, ""},
		"an unchanged field": {object("${A}", nil), object("${A}", map[string]any{"team": "a"}), &flux.PostBuild{}, ""},
		"a changed field":    {object("${A}", nil), object("${A}:1", nil), &flux.PostBuild{}, "has 1 variable of \x00A\x00, which Flux puts in place"},
		"switched on":        {object("${A}", off), object("${A}", nil), &flux.PostBuild{}, "has 1 variable of \x00A\x00, which Flux puts in place"},
		"removed object":     {object("x", nil), nil, &flux.PostBuild{}, ""},
	} {
		changed := []compare.Change{{Before: test.before, After: test.after}}
		e := compare.Differences{Kinds: gatehouse.All(), Changes: changed}.With(compare.Facts{Name: "prod", PostBuild: test.values})
		got := ""
		for _, e := range effects(e, time.Time{}) {
			if e.Type == effect.ValuesUnknown {
				got = string(e.What)
			}
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
