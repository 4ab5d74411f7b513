package render

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// locate returns the file and line that gave a field of a built object its value:
// of a patch, a replicas: entry or the object itself; of the object, or of what
// holds the field in it, where the field is nowhere. An empty field is the object.
func (s *sources) locate(o object, field string, value any) (file string, line int) {
	keys := splitField(field)
	own, found := s.document(o)
	if found {
		if node := nodeAt(own.node, keys); node != nil && hasValue(node, value) {
			return relative(own.file), own.line(keyAt(own.node, keys))
		}
	}
	if len(keys) > 0 {
		for _, file := range slices.Sorted(maps.Keys(s.tree.read)) {
			for _, d := range s.of(file) {
				if node := changeOf(d, o, keys, value); node != nil {
					return relative(file), d.line(node)
				}
			}
		}
	}
	if found {
		for len(keys) > 0 && nodeAt(own.node, keys) == nil {
			keys = keys[:len(keys)-1]
		}
		return relative(own.file), own.line(keyAt(own.node, keys))
	}
	return relative(o.origin), 0
}

// document finds an object where it was written, also if its name was changed
// since: then it is one of the same kind whose name the new one contains.
func (s *sources) document(o object) (document, bool) {
	var renamed *document
	for _, d := range s.of(o.origin) {
		if d.inline || d.kind != o.kind() || d.group != o.group() {
			continue
		}
		if d.name == o.name() && (d.ns == o.namespace() || renamed == nil) {
			renamed = &d
			if d.ns == o.namespace() {
				return d, true
			}
		}
		if renamed == nil && d.name != "" && strings.Contains(o.name(), d.name) {
			renamed = &d
		}
	}
	if renamed == nil {
		return document{}, false
	}
	return *renamed, true
}

// changeOf returns the node of a document that gives a field of an object its
// value, if the document is a patch or a kustomization that does.
func changeOf(d document, o object, keys []string, value any) *yaml.Node {
	if kind := stringAt(d.node, "kind"); isKustomization(d.file) && !d.inline && (kind == "" || kind == "Kustomization" || kind == "Component") {
		if strings.Join(keys, ".") == "spec.size" || strings.Join(keys, ".") == "spec.replicas" {
			return replicasEntry(d.node, o.name(), value)
		}
		return nil
	}
	if d.kind != "" && d.kind != o.kind() || d.name != "" && !strings.Contains(o.name(), d.name) {
		return nil
	}
	if d.node.Kind == yaml.SequenceNode {
		return jsonPatchOf(d.node, keys, value)
	}
	if node := nodeAt(d.node, keys); node != nil && hasValue(node, value) {
		return keyAt(d.node, keys)
	}
	return nil
}

// jsonPatchOf returns the operation of a JSON 6902 patch that sets a field.
func jsonPatchOf(operations *yaml.Node, keys []string, value any) *yaml.Node {
	for _, operation := range operations.Content {
		_, set := mappingEntry(operation, "value")
		if set == nil {
			continue
		}
		prefix := strings.Split(strings.TrimPrefix(stringAt(operation, "path"), "/"), "/")
		if len(prefix) > len(keys) || !slices.Equal(prefix, keys[:len(prefix)]) {
			continue
		}
		if node := nodeAt(set, keys[len(prefix):]); node != nil && hasValue(node, value) {
			return node
		}
	}
	return nil
}

func replicasEntry(kustomization *yaml.Node, name string, value any) *yaml.Node {
	_, replicas := mappingEntry(kustomization, "replicas")
	if replicas == nil {
		return nil
	}
	for _, entry := range replicas.Content {
		if count, node := mappingEntry(entry, "count"); count != nil && strings.Contains(name, stringAt(entry, "name")) && hasValue(node, value) {
			return count
		}
	}
	return nil
}

// hasValue says whether a node is written like a value. Where the value is not a
// plain one, being there is enough.
func hasValue(node *yaml.Node, value any) bool {
	switch value.(type) {
	case string, bool, int64, float64, int32, int:
		return node.Kind != yaml.ScalarNode || node.Value == fmt.Sprint(value)
	}
	return true
}

// nodeAt returns the value node at keys, or nil.
func nodeAt(node *yaml.Node, keys []string) *yaml.Node {
	_, value := walkKeys(node, keys)
	return value
}

// keyAt returns the node whose line a person looks for: that of the key, where
// the value has one.
func keyAt(node *yaml.Node, keys []string) *yaml.Node {
	key, _ := walkKeys(node, keys)
	return key
}

func walkKeys(node *yaml.Node, keys []string) (key, value *yaml.Node) {
	key, value = node, node
	for _, k := range keys {
		if value.Kind == yaml.SequenceNode {
			i, err := strconv.Atoi(k)
			if err != nil || i < 0 || i >= len(value.Content) {
				return nil, nil
			}
			key, value = value.Content[i], value.Content[i]
			continue
		}
		if key, value = mappingEntry(value, k); value == nil {
			return nil, nil
		}
	}
	return key, value
}

// splitField splits the path of a field as the API server writes it,
// spec.env[0].name or metadata.labels[a.b/c], into keys and indexes.
func splitField(field string) []string {
	var keys []string
	for field != "" {
		if rest, ok := strings.CutPrefix(field, "["); ok {
			key, after, _ := strings.Cut(rest, "]")
			keys, field = append(keys, key), strings.TrimPrefix(after, ".")
			continue
		}
		end := strings.IndexAny(field, ".[")
		if end < 0 {
			return append(keys, field)
		}
		if end > 0 {
			keys = append(keys, field[:end])
		}
		field = strings.TrimPrefix(field[end:], ".")
	}
	return keys
}

func isKustomization(file string) bool {
	switch path.Base(file) {
	case "kustomization.yaml", "kustomization.yml", "Kustomization":
		return true
	}
	return false
}
