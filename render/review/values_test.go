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
		after  *unstructured.Unstructured
		values *flux.PostBuild
		want   string
	}{
		"unknown":        {object("${B} ${A:=x}", nil), &flux.PostBuild{}, "has 2 variables of \x00A\x00, \x00B\x00, which Flux puts in place"},
		"known":          {object("${A}", nil), &flux.PostBuild{Values: map[string]string{}}, ""},
		"no variables":   {object("A", nil), &flux.PostBuild{}, ""},
		"switched off":   {object("${A}", off), &flux.PostBuild{}, ""},
		"not postBuild":  {object("${A}", nil), nil, ""},
		"removed object": {nil, &flux.PostBuild{}, ""},
	} {
		changed := []compare.Change{{Before: object("x", nil), After: test.after}}
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
