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

// test says whether a node may be what an error is about. Nil is a test that every
// node passes.
type test func(*yaml.Node) bool

func (t test) passes(node *yaml.Node) bool { return node != nil && (t == nil || t(node)) }

// locate returns the file and line that gave a field of a built object its value:
// of the object itself, or of a patch or replicas: entry. Where there is no such
// line, it is that of what would hold the field. An empty field is the object.
func (s *sources) locate(o object, field string, is test) (file string, line int) {
	keys := splitField(field)
	own, found := s.document(o)
	if found {
		if key, value := walkKeys(own.node, keys, is); is.passes(value) {
			return relative(own.file), own.line(key)
		}
	}
	if d, node := s.change(o, keys, is); node != nil {
		return relative(d.file), d.line(node)
	}
	if !found {
		return relative(o.origin), s.generatorLine(o)
	}
	for ; len(keys) > 0; keys = keys[:len(keys)-1] {
		if key, _ := walkKeys(own.node, keys, nil); key != nil {
			return relative(own.file), own.line(key)
		}
	}
	return relative(own.file), own.line(own.node)
}

// change finds the node of a patch or replicas: entry that gave a field its value:
// of several, that with the longest name in common with the object.
func (s *sources) change(o object, keys []string, is test) (of document, at *yaml.Node) {
	if len(keys) == 0 {
		return of, nil
	}
	for _, file := range slices.Sorted(maps.Keys(s.tree.read)) {
		for _, d := range s.of(file) {
			if at != nil && len(d.name) <= len(of.name) {
				continue
			}
			if node := changeOf(d, o, keys, is); node != nil {
				of, at = d, node
			}
		}
	}
	return of, at
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

// generatorLine is the line of the generator, in a kustomization, of an object; 0
// where there is none.
func (s *sources) generatorLine(o object) int {
	for _, d := range s.of(o.origin) {
		for _, field := range []string{"configMapGenerator", "secretGenerator"} {
			_, generators := mappingEntry(d.node, field)
			if generators == nil {
				continue
			}
			for _, entry := range generators.Content {
				if name := stringAt(entry, "name"); name != "" && strings.Contains(o.name(), name) {
					return d.line(entry)
				}
			}
		}
	}
	return 0
}

// changeOf returns the node of a document that gives a field of an object its
// value, if the document is a patch or a kustomization that does.
func changeOf(d document, o object, keys []string, is test) *yaml.Node {
	if isKustomization(d.file) && !d.inline {
		if field := strings.Join(keys, "."); field == "spec.size" || field == "spec.replicas" {
			return replicasEntry(d.node, o.name(), is)
		}
		return nil
	}
	if d.kind != "" && d.kind != o.kind() || d.name != "" && !strings.Contains(o.name(), d.name) || d.ns != "" && d.ns != o.namespace() {
		return nil
	}
	if d.node.Kind == yaml.SequenceNode {
		return jsonPatchOf(d.node, keys, is)
	}
	if key, value := walkKeys(d.node, keys, is); is.passes(value) {
		return key
	}
	return nil
}

// jsonPatchOf returns the operation of a JSON 6902 patch that sets or removes a
// field.
func jsonPatchOf(operations *yaml.Node, keys []string, is test) *yaml.Node {
	for _, operation := range operations.Content {
		prefix := strings.Split(strings.TrimPrefix(stringAt(operation, "path"), "/"), "/")
		for i := range prefix {
			prefix[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(prefix[i])
		}
		if len(prefix) > len(keys) || !slices.Equal(prefix, keys[:len(prefix)]) {
			continue
		}
		set, value := mappingEntry(operation, "value")
		if set == nil && stringAt(operation, "op") == "remove" && is == nil {
			return operation
		}
		if value == nil {
			continue
		}
		key, value := walkKeys(value, keys[len(prefix):], is)
		if is.passes(value) {
			if len(prefix) == len(keys) {
				return set
			}
			return key
		}
	}
	return nil
}

func replicasEntry(kustomization *yaml.Node, name string, is test) *yaml.Node {
	_, replicas := mappingEntry(kustomization, "replicas")
	if replicas == nil {
		return nil
	}
	for _, entry := range replicas.Content {
		if count, value := mappingEntry(entry, "count"); is.passes(value) && strings.Contains(name, stringAt(entry, "name")) {
			return count
		}
	}
	return nil
}

// written is the test for a value, as it is written.
func written(value any) test {
	switch value.(type) {
	case string, bool, int64, float64, int32, int:
		return func(node *yaml.Node) bool {
			return node.Kind != yaml.ScalarNode || node.Value == fmt.Sprint(value)
		}
	}
	return nil
}

// walkKeys returns the key and value nodes at keys, or nil; of a list whose index
// is not among the keys, those of the first item that passes a test. An item of a
// list is its own key.
func walkKeys(node *yaml.Node, keys []string, is test) (key, value *yaml.Node) {
	key, value = node, node
	for i, k := range keys {
		if value.Kind != yaml.SequenceNode {
			if key, value = mappingEntry(value, k); value == nil {
				return nil, nil
			}
			continue
		}
		if index, err := strconv.Atoi(k); err == nil {
			if index < 0 || index >= len(value.Content) {
				return nil, nil
			}
			key, value = value.Content[index], value.Content[index]
			continue
		}
		for _, item := range value.Content {
			if key, value := walkKeys(item, keys[i:], is); is.passes(value) {
				return key, value
			}
		}
		return nil, nil
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
