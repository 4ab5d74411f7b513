package source

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/manifest"
)

// test reports whether a node may be the one that a problem is about. Every node passes nil.
type test func(*yaml.Node) bool

func (t test) passes(node *yaml.Node) bool { return node != nil && (t == nil || t(node)) }

// testOf returns the test for what is known of a value.
func testOf(value manifest.Value) test {
	if value.Type != "" {
		tags, ok := jsonTypes[value.Type]
		if !ok {
			return nil
		}
		return func(node *yaml.Node) bool { return strings.Contains(tags, node.ShortTag()) }
	}
	switch reflect.ValueOf(value.Is).Kind() { // also of a type of its own, as Kubernetes has for enums
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		return func(node *yaml.Node) bool {
			return node.Kind != yaml.ScalarNode || node.Value == fmt.Sprint(value.Is)
		}
	}
	return nil
}

// jsonTypes has the YAML tags of the values of each JSON type.
var jsonTypes = map[string]string{
	"string": "!!str", "integer": "!!int", "number": "!!int !!float", "bool": "!!bool", "boolean": "!!bool",
	"object": "!!map", "array": "!!seq", "null": "!!null",
}

// Locate returns a problem with a built object with the file and line that gave the field its
// value: those of the object, which comes from the file origin, or of a patch or entry of a
// kustomization. Without such a line, it returns that of the mapping that would hold the field.
func (s *Sources) Locate(p manifest.Problem, origin string) manifest.Problem {
	if p.Subject.Unstructured == nil {
		p.File = Relative(origin)
		return p
	}
	return s.locate(p, p.Subject.ID(), origin)
}

// LocateWritten returns a problem with an object that could not be built as Locate does: the object
// comes from a file that has one of its name or, where there is none, from a kustomization.
func (s *Sources) LocateWritten(p manifest.Problem, id manifest.ID, kustomization string) manifest.Problem {
	p.Object = id.String()
	if written := s.Written(id); len(written) > 0 {
		kustomization = written[0].File
	}
	return s.locate(p, id, kustomization)
}

// writtenKeys returns the keys at which people write a field. The API server keeps what all
// versions of a CustomResourceDefinition have in common apart from them.
func writtenKeys(id manifest.ID, keys []string) []string {
	if id.Group != "apiextensions.k8s.io" || len(keys) < 2 || keys[0] != "spec" {
		return keys
	}
	switch first := []string{"spec", "versions", "0"}; keys[1] {
	case "validation":
		return slices.Concat(first, []string{"schema"}, keys[2:])
	case "subresources", "additionalPrinterColumns", "selectableFields":
		return slices.Concat(first, keys[1:])
	}
	return keys
}

func (s *Sources) locate(p manifest.Problem, id manifest.ID, origin string) manifest.Problem {
	keys, is := writtenKeys(id, manifest.SplitField(p.Field)), testOf(p.Value)
	p.File, p.Line = Relative(origin), 0
	own := closest(id, s.documents[origin])
	if len(own) > 0 {
		p.Line = lineAt(own[0].Node, keys)
		if node := nodeAt(own[0].Node, keys, is); node != nil {
			p.Line = node.Line
			return p
		}
	}
	if file, node := s.changeOf(id, keys, is); node != nil {
		p.File, p.Line = Relative(file), node.Line
	}
	return p
}

// lineAt returns the line of a field of a document, or of the mapping that would hold it; 0 without
// a document.
func lineAt(document *yaml.Node, keys []string) int {
	if document == nil {
		return 0
	}
	for ; ; keys = keys[:len(keys)-1] {
		if key, _ := walkKeys(document, keys, nil); key != nil {
			return key.Line
		}
	}
}

// changeOf returns the file and the node of a patch, or an entry of a kustomization, that gave a
// field of an object its value: of several, that with the longest name in common with the object.
// If the value is known, the patch may have another name: kustomize does not read that of one
// with a target.
func (s *Sources) changeOf(id manifest.ID, keys []string, is test) (file string, at *yaml.Node) {
	if len(keys) == 0 {
		return "", nil
	}
	for _, folder := range slices.Sorted(maps.Keys(s.Kustomizations)) {
		if k := s.Kustomizations[folder]; at == nil {
			file, at = k.File, s.changeBy(k, id, keys, is)
		}
	}
	longest := 0
	for _, p := range s.patches {
		isNamed := strings.Contains(id.Name, p.Name) && (p.Namespace == "" || p.Namespace == id.Namespace)
		if !isNamed && (!p.hasTarget || is == nil) || !mayName(p.kind, id.Kind) {
			continue
		}
		common := 0
		if isNamed {
			common = len(p.Name)
		}
		if at != nil && common <= longest {
			continue
		}
		if node := nodeAt(p.Node, keys, is); node != nil {
			file, at, longest = p.File, node, common
		}
	}
	return file, at
}

// nodeAt returns the node of an object or a patch that gives a field its value, or nil.
func nodeAt(document *yaml.Node, keys []string, is test) *yaml.Node {
	if document.Kind == yaml.SequenceNode {
		return jsonPatchNode(document, keys, is)
	}
	if key, value := walkKeys(document, keys, is); is.passes(value) {
		return key
	}
	return nil
}

// changeBy returns the node of a kustomization, of its replicas or namespace, that gives a field of
// an object its value, or nil.
func (s *Sources) changeBy(k *Kustomization, id manifest.ID, keys []string, is test) *yaml.Node {
	field := strings.Join(keys, ".")
	switch {
	case field == "metadata.namespace":
		if key, value := mappingEntry(k.root, "namespace"); is.passes(value) {
			return key
		}
	case field == "spec.replicas", slices.Contains(s.fields.scaleFields(), field):
		for _, entry := range itemsOf(Field(k.root, "replicas")) {
			if count, value := mappingEntry(entry, "count"); is.passes(value) && strings.Contains(id.Name, textAt(entry, "name")) {
				return count
			}
		}
	}
	return nil
}

// jsonPatchNode returns the operation of a JSON 6902 patch that sets or removes a field, or else
// the last operation within the field.
func jsonPatchNode(operations *yaml.Node, keys []string, is test) (node *yaml.Node) {
	for _, operation := range operations.Content {
		prefix := JSONPointer(textAt(operation, "path"))
		if len(prefix) > len(keys) {
			if slices.EqualFunc(prefix[:len(keys)], keys, pointsAt) {
				node = operation
			}
			continue
		}
		if !slices.EqualFunc(prefix, keys[:len(prefix)], pointsAt) {
			continue
		}
		set, value := mappingEntry(operation, "value")
		if set == nil && textAt(operation, "op") == "remove" && is == nil {
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
	return node
}

// pointsAt reports whether a part of the path of an operation stands for a key: - is the item
// that the operation appends to a list.
func pointsAt(part, key string) bool {
	_, err := strconv.Atoi(key)
	return part == key || part == "-" && err == nil
}

// JSONPointer splits the path of an operation of a JSON 6902 patch into keys.
func JSONPointer(pointer string) []string {
	keys := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := range keys {
		keys[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(keys[i])
	}
	return keys
}

// walkKeys returns the key and value nodes at keys, or nil; of a list, those of the
// first item that passes a test, where the index is not among the keys or its item does
// not pass: a patch has indexes of its own. An item of a list is its own key.
func walkKeys(node *yaml.Node, keys []string, is test) (key, value *yaml.Node) {
	if len(keys) == 0 {
		return node, node
	}
	if node.Kind != yaml.SequenceNode {
		if key, value = spelledEntry(node, keys[0]); value == nil || len(keys) == 1 {
			return key, value
		}
		return walkKeys(value, keys[1:], is)
	}
	items := node.Content
	if index, err := strconv.Atoi(keys[0]); err == nil {
		keys = keys[1:]
		items = nil
		if index >= 0 && index < len(node.Content) {
			items = []*yaml.Node{node.Content[index]}
		}
		if is != nil {
			items = append(items, node.Content...)
		}
	}
	for _, item := range items {
		if key, value = walkKeys(item, keys, is); is.passes(value) {
			return key, value
		}
	}
	return nil, nil
}

// spelledEntry returns the entry of a mapping with a key, in any case: the API server names some
// fields as its code does.
func spelledEntry(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	for k, v := range entries(mapping) {
		if k.Value == name {
			return k, v
		}
		if key == nil && strings.EqualFold(k.Value, name) {
			key, value = k, v
		}
	}
	return key, value
}

// Line returns the line of a field of a kustomization, or of the mapping that would hold it.
func (s *Sources) Line(file string, keys ...string) int {
	return lineAt(s.Kustomizations[path.Dir(file)].root, keys)
}

// FindReplicas returns where an entry of replicas: has a name, or "".
func (s *Sources) FindReplicas(name string) (file string, line int) {
	return s.findEntry("replicas", func(k *Kustomization) int {
		return slices.IndexFunc(k.Replicas, func(r types.Replica) bool { return r.Name == name })
	})
}

// FindPatch returns where the entry of patches: is that an error of kustomize quotes, or "".
func (s *Sources) FindPatch(message string) (file string, line int) {
	return s.findEntry("patches", func(k *Kustomization) int {
		return slices.IndexFunc(k.Patches, func(p types.Patch) bool {
			return strings.Contains(message, fmt.Sprintf("[patch: %q]", p.Patch)) || strings.Contains(message, fmt.Sprintf("[path: %q]", p.Path))
		})
	})
}

// findEntry returns where the first entry of a field is whose index in its kustomization is not negative.
func (s *Sources) findEntry(field string, index func(k *Kustomization) int) (file string, line int) {
	for _, folder := range slices.Sorted(maps.Keys(s.Kustomizations)) {
		k := s.Kustomizations[folder]
		if i := index(k); i >= 0 {
			return Relative(k.File), s.Line(k.File, field, strconv.Itoa(i))
		}
	}
	return "", 0
}
