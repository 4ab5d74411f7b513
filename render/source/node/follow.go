package node

import (
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Follow follows the keys of a built value in a document of it, such as a patch. An item of a list may have another
// index there: its names tell it. Follow returns the key and value nodes of the last key that it found, and how
// many it found.
func Follow(document *yaml.Node, built any, keys []string) (key, value *yaml.Node, found int) {
	key = document
	value = document
	for found < len(keys) {
		var k, v *yaml.Node
		switch parent := built.(type) {
		case map[string]any:
			k, v = foldedEntry(value, keys[found])
			built = parent[keys[found]]
		case []any:
			i, err := strconv.Atoi(keys[found])
			if err != nil || i < 0 || i >= len(parent) || value.Kind != yaml.SequenceNode {
				return key, value, found
			}
			v = itemOf(Items(value), parent, i)
			k = v
			built = parent[i]
		}
		if v == nil {
			return key, value, found
		}
		key = k
		value = v
		found++
	}
	return key, value, found
}

// itemOf returns the item of a list that is the built item i: the one of the same names, or else the one at its
// index unless that is another built item.
func itemOf(items []*yaml.Node, built []any, i int) *yaml.Node {
	for _, item := range items {
		if IsItem(item, built[i]) {
			return item
		}
	}
	if i < len(items) && !slices.ContainsFunc(built, func(other any) bool { return IsItem(items[i], other) }) {
		return items[i]
	}
	return nil
}

// names are the fields by which items of lists differ. Strategic merge patches merge lists by most of them.
var names = []string{"name", "mountPath", "devicePath", "containerPort", "port", "topologyKey", "ip", "uid", "host",
	"path", "key", "type", "namespace"}

// IsItem reports whether an item of a list is a built item, by its names, its values or its text.
func IsItem(item *yaml.Node, built any) bool {
	fields, isMapping := built.(map[string]any)
	if !isMapping {
		return item.Kind == yaml.ScalarNode && HasValue(item, built)
	}
	is := false
	for _, name := range names {
		if own := Field(item, name); own != nil && fields[name] != nil {
			if !HasValue(own, fields[name]) {
				return false
			}
			is = true
		}
	}
	if is {
		return true
	}
	for key, value := range Entries(item) { // without a name it is told by all that it has
		if is = HasValue(value, fields[key.Value]); !is {
			return false
		}
	}
	return is
}

// HasValue reports whether a node has a built value, or is a mapping or a list as the value is.
func HasValue(n *yaml.Node, built any) bool {
	switch built.(type) {
	case nil:
		return IsNull(n)
	case map[string]any:
		return n.Kind == yaml.MappingNode
	case []any:
		return n.Kind == yaml.SequenceNode
	}
	var own any
	return n.Kind == yaml.ScalarNode && (n.Value == fmt.Sprint(built) ||
		n.Decode(&own) == nil && fmt.Sprint(own) == fmt.Sprint(built))
}
