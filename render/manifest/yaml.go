package manifest

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v2"
)

// YAML formats the object as kustomize does: sorted keys, no comments. The keys are in the order of their
// bytes: the order of the YAML library is not transitive, so its output is random for some keys.
func (o Object) YAML() ([]byte, error) { return yaml.Marshal(ordered(o.Object)) }

// ordered replaces the mappings in content by ordered ones.
func ordered(content any) any {
	switch content := content.(type) {
	case map[string]any:
		items := make(yaml.MapSlice, 0, len(content))
		for _, key := range slices.Sorted(maps.Keys(content)) {
			items = append(items, yaml.MapItem{Key: key, Value: ordered(content[key])})
		}
		return items
	case []any:
		items := make([]any, len(content))
		for i, item := range content {
			items[i] = ordered(item)
		}
		return items
	}
	return content
}
