package node

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/manifest"
)

// Test reports whether a node may have the value of a problem. A nil Test accepts every node.
type Test func(*yaml.Node) bool

// Accepts reports whether there is a node and the test accepts it.
func (t Test) Accepts(node *yaml.Node) bool { return node != nil && (t == nil || t(node)) }

// TestOf returns a test for the value, or the type, of a problem.
func TestOf(value manifest.Value) Test {
	if value.Contains != "" {
		return func(node *yaml.Node) bool { return strings.Contains(node.Value, value.Contains) }
	}
	if value.Type != "" {
		tags, ok := jsonTypes[value.Type]
		if !ok {
			return nil
		}
		return func(node *yaml.Node) bool { return strings.Contains(tags, node.ShortTag()) }
	}
	if number, ok := value.Is.(float64); ok {
		return func(node *yaml.Node) bool {
			written, err := strconv.ParseFloat(node.Value, 64)
			return node.Kind != yaml.ScalarNode || err == nil && written == number
		}
	}
	switch reflect.ValueOf(value.Is).Kind() { // Kubernetes has types of its own for enums
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64:
		return func(node *yaml.Node) bool {
			is := fmt.Sprint(value.Is)
			return node.Kind != yaml.ScalarNode || node.Value == is || manifest.OldBoolean(node) == is && is != ""
		}
	}
	return nil
}

// lineWithin returns the line of a part of a text in a block of several lines, or 0.
func lineWithin(block *yaml.Node, part string) int {
	if block == nil || part == "" || block.Style&yaml.LiteralStyle == 0 {
		return 0
	}
	before, _, _ := strings.Cut(block.Value, part)
	return block.Line + 1 + strings.Count(before, "\n")
}

// LineAt returns the line of a field with a value, and whether the document has it.
func LineAt(document *yaml.Node, keys []string, value manifest.Value) (line int, ok bool) {
	test := TestOf(value)
	at := At(document, keys, test)
	if at == nil {
		return 0, false
	}
	if document.Kind != yaml.SequenceNode {
		_, block := Walk(document, keys, test)
		return cmp.Or(lineWithin(block, value.Contains), lineOfPair(block, value.Is), at.Line), true
	}
	return at.Line, true
}

// lineOfPair returns the line of the key or the value of a mapping that is a text, or 0: the API server names a wrong
// label, but only the field of all labels.
func lineOfPair(mapping *yaml.Node, text any) int {
	for key, value := range Entries(mapping) {
		if key.Value == text || value.Kind == yaml.ScalarNode && value.Value == text {
			return key.Line
		}
	}
	return 0
}

// jsonTypes maps JSON types to the YAML tags of their values.
var jsonTypes = map[string]string{
	"string": "!!str", "integer": "!!int", "number": "!!int !!float", "bool": "!!bool", "boolean": "!!bool",
	"object": "!!map", "array": "!!seq", "null": "!!null",
}

// Line returns the line of a field of a document, or of the innermost mapping around a missing
// field; 0 without a document.
func Line(document *yaml.Node, keys ...string) int {
	if document == nil {
		return 0
	}
	for ; ; keys = keys[:len(keys)-1] {
		if key, _ := Walk(document, keys, nil); key != nil {
			return key.Line
		}
	}
}

// At returns the node of an object or a patch that sets a field, or nil.
func At(document *yaml.Node, keys []string, test Test) *yaml.Node {
	if document.Kind == yaml.SequenceNode {
		return operationAt(document, keys, test)
	}
	if key, value := Walk(document, keys, test); test.Accepts(value) {
		return key
	}
	return nil
}

// operationAt returns the operation of a JSON 6902 patch that sets or removes a field, or else
// the last operation within the field.
func operationAt(operations *yaml.Node, keys []string, test Test) (found *yaml.Node) {
	for _, operation := range operations.Content {
		prefix := JSONPointer(Text(operation, "path"))
		if len(prefix) > len(keys) {
			if slices.EqualFunc(prefix[:len(keys)], keys, pointsAt) {
				found = operation
			}
			continue
		}
		if !slices.EqualFunc(prefix, keys[:len(prefix)], pointsAt) {
			continue
		}
		set, value := Entry(operation, "value")
		if set == nil && Text(operation, "op") == "remove" && test == nil {
			return operation
		}
		if value == nil {
			continue
		}
		if key, value := Walk(value, keys[len(prefix):], test); test.Accepts(value) {
			if len(prefix) == len(keys) {
				return set
			}
			return key
		}
	}
	return found
}

// pointsAt reports whether a part of the path of an operation stands for a key. The part "-" appends
// an item to a list, so it may stand for any index.
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

// Walk returns the key and value nodes at keys, or nil. In a list it tries the item with the index
// among the keys first, and then, if there is a test or no index, every item: the indexes of a patch
// are its own. An item of a list is its own key.
func Walk(node *yaml.Node, keys []string, test Test) (key, value *yaml.Node) {
	if len(keys) == 0 {
		return node, node
	}
	if node.Kind != yaml.SequenceNode {
		if key, value = foldedEntry(node, keys[0]); value == nil || len(keys) == 1 {
			return key, value
		}
		return Walk(value, keys[1:], test)
	}
	items := node.Content
	if index, err := strconv.Atoi(keys[0]); err == nil {
		keys = keys[1:]
		items = nil
		if index >= 0 && index < len(node.Content) {
			items = []*yaml.Node{node.Content[index]}
		}
		if test != nil {
			items = append(items, node.Content...)
		}
	}
	for _, item := range items {
		if key, value = Walk(item, keys, test); test.Accepts(value) {
			return key, value
		}
	}
	return nil, nil
}

// foldedEntry returns the entry of a mapping with a key or else, in another case, the first such
// entry: the API server names some fields as its Go code does.
func foldedEntry(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	for k, v := range Entries(mapping) {
		if k.Value == name {
			return k, v
		}
		if key == nil && strings.EqualFold(k.Value, name) {
			key = k
			value = v
		}
	}
	return key, value
}
