// Package structural walks custom resources by the schema of their CustomResourceDefinition.
package structural

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// Visit is called with a value at a path, and its schema.
type Visit func(s *schema.Structural, value any, path []string)

// Walk calls visit for each value in content that has a schema, parents first.
func Walk(s *schema.Structural, content any, visit Visit) { walk(s, content, nil, visit) }

func walk(s *schema.Structural, content any, path []string, visit Visit) {
	visit(s, content, path)
	switch content := content.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(content)) {
			if property, ok := s.Properties[key]; ok {
				walk(&property, content[key], append(path, key), visit)
			} else if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
				walk(s.AdditionalProperties.Structural, content[key], append(path, key), visit)
			}
		}
	case []any:
		for i := 0; s.Items != nil && i < len(content); i++ {
			walk(s.Items, content[i], append(path, fmt.Sprintf("[%d]", i)), visit)
		}
	}
}
