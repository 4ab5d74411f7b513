package structural

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// Values without a schema, such as below x-kubernetes-preserve-unknown-fields, are not visited.
func TestWalkVisitsValuesWithASchemaParentsFirst(t *testing.T) {
	text := schema.Structural{Generic: schema.Generic{Type: "string"}}
	s := &schema.Structural{Properties: map[string]schema.Structural{
		"names":  {Items: &text},
		"labels": {AdditionalProperties: &schema.StructuralOrBool{Structural: &text}},
		"free":   {AdditionalProperties: &schema.StructuralOrBool{Bool: true}},
	}}
	content := map[string]any{
		"names":   []any{"a", "b"},
		"labels":  map[string]any{"app": "shop"},
		"free":    map[string]any{"any": "thing"},
		"unknown": "field",
	}
	var got []string
	Walk(s, content, func(_ *schema.Structural, _ any, path []string) { got = append(got, strings.Join(path, ".")) })
	want := []string{"", "free", "labels", "labels.app", "names", "names.[0]", "names.[1]"}
	if !slices.Equal(got, want) {
		t.Errorf("visited %q, want %q", got, want)
	}
}
