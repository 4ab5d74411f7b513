// Package node finds fields in the nodes of YAML documents: of objects, patches and kustomizations.
package node

import (
	"iter"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Deref returns the node that an alias stands for, or the node itself.
func Deref(node *yaml.Node) *yaml.Node {
	if node != nil && node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// IsNull reports whether a node is null.
func IsNull(node *yaml.Node) bool { return node.ShortTag() == "!!null" }

// Entries yields the keys and values of a mapping, with aliases dereferenced. Any other node has
// no entries.
func Entries(mapping *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		mapping := Deref(mapping)
		if mapping == nil || mapping.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(mapping.Content); i += 2 {
			if !yield(mapping.Content[i], Deref(mapping.Content[i+1])) {
				return
			}
		}
	}
}

// Entry returns the key and value nodes of a key, or nil.
func Entry(mapping *yaml.Node, key string) (k, v *yaml.Node) {
	for k, v := range Entries(mapping) {
		if k.Value == key {
			return k, v
		}
	}
	return nil, nil
}

// Remove removes keys of a mapping, which may be nil.
func Remove(mapping *yaml.Node, keys ...string) {
	for i := 0; mapping != nil && i+1 < len(mapping.Content); {
		if slices.Contains(keys, mapping.Content[i].Value) {
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
		} else {
			i += 2
		}
	}
}

// TakeLast leaves the last value of each key that a mapping has more than once.
func TakeLast(root *yaml.Node) {
	for n := range All(root) {
		seen := map[string]bool{}
		for i := len(n.Content) - 2; n.Kind == yaml.MappingNode && i >= 0; i -= 2 {
			key := Deref(n.Content[i])
			if key.Kind == yaml.ScalarNode && seen[key.Value] {
				n.Content = slices.Delete(n.Content, i, i+2)
			}
			seen[key.Value] = key.Value != "<<" // each of several counts
		}
	}
}

// Field returns the value of a key of a mapping, or nil.
func Field(mapping *yaml.Node, key string) *yaml.Node {
	_, value := Entry(mapping, key)
	return value
}

// Fields returns the values of a key in any case: kustomize folds the case of keys.
func Fields(mapping *yaml.Node, key string) (values []*yaml.Node) {
	for k, v := range Entries(mapping) {
		if strings.EqualFold(k.Value, key) {
			values = append(values, v)
		}
	}
	return values
}

// Items returns the items of a list, with aliases dereferenced. Any other node is its own only item.
func Items(node *yaml.Node) (items []*yaml.Node) {
	if node == nil || node.Kind != yaml.SequenceNode {
		return []*yaml.Node{node}
	}
	for _, item := range node.Content {
		items = append(items, Deref(item))
	}
	return items
}

// Item returns the item of Items with an index, or nil.
func Item(node *yaml.Node, index int) *yaml.Node {
	if items := Items(Deref(node)); index < len(items) {
		return items[index]
	}
	return nil
}

// Text returns the text of the scalar at keys, or "".
func Text(node *yaml.Node, keys ...string) string {
	for _, key := range keys {
		node = Field(node, key)
	}
	if node == nil || IsNull(node) {
		return ""
	}
	return node.Value
}

// All yields a node and the nodes in it, each once: aliases in place of their nodes.
func All(node *yaml.Node) iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) { yieldAll(node, yield) }
}

// yieldAll yields until yield returns false, and reports whether it never did.
func yieldAll(node *yaml.Node, yield func(*yaml.Node) bool) bool {
	if node == nil {
		return true
	}
	isEach := yield(node)
	for i := 0; i < len(node.Content) && isEach; i++ {
		isEach = yieldAll(node.Content[i], yield)
	}
	return isEach
}

// Scalars yields the text of the scalars in a node, including keys.
func Scalars(node *yaml.Node) iter.Seq[string] {
	return func(yield func(string) bool) {
		for n := range All(node) {
			if n.Kind == yaml.ScalarNode && !yield(n.Value) {
				return
			}
			for text := range Scalars(n.Alias) {
				if !yield(text) {
					return
				}
			}
		}
	}
}
