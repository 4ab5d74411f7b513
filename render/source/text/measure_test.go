package text

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The schema of a large CustomResourceDefinition in flow style is indented deeply, and does not grow.
func TestMeasureAllowsFlowStyle(t *testing.T) {
	const levels = 20
	text := "[" + strings.Repeat(strings.Repeat("{type: object, properties: {a: ", levels)+"{type: string, b: c, d: e}"+strings.Repeat("}}", levels)+", ", 5_000) + "]"
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	if growth, err := measure(root.Content[0], len(text)); err != nil || growth > 0 {
		t.Errorf("%d bytes grow by %d: %v", len(text), growth, err)
	}
}
