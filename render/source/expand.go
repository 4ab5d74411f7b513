package source

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

const (
	// maxDepth is how deep a document may nest: objects of Kubernetes do not come near.
	maxDepth = 200

	// maxGrowth is by how many bytes a document, and maxTotalGrowth by how many all that
	// are read together, may grow beyond what is written. To read, build and check takes
	// some thirty times as much memory.
	maxGrowth      = 4 << 20
	maxTotalGrowth = 16 << 20

	// nodeSize is what a node takes beside its text, in bytes, and comparisons how many
	// take as long as a byte.
	nodeSize    = 32
	comparisons = 25

	// maxKeys is how many keys a mapping may have: kustomize compares each with each.
	maxKeys = 10_000
)

// extent is what a node is with its aliases expanded and written in block style.
type extent struct {
	nodes    int // with itself
	bytes    int
	height   int
	compared int // keys with keys
}

// size is what an extent takes, in bytes.
func (e extent) size() int { return e.bytes + nodeSize*e.nodes + e.compared/comparisons }

// holding returns the extent of a node with one more child.
func (e extent) holding(child extent) extent {
	return extent{
		nodes:    e.nodes + child.nodes,
		bytes:    e.bytes + child.bytes + 2*child.nodes, // the child is indented
		height:   max(e.height, child.height+1),
		compared: e.compared + child.compared,
	}
}

// measurement finds what a tree of nodes is when it is expanded, without expanding it.
type measurement struct {
	length  int // of the text that the nodes are written in
	nodes   int // that were measured
	anchors map[*yaml.Node]extent
	open    map[*yaml.Node]bool
}

// measure returns by how many bytes a document, of a text of some length, grows where its
// aliases are expanded, or what keeps it from being expanded.
func measure(root *yaml.Node, length int) (growth int, err error) {
	m := &measurement{length: length, anchors: map[*yaml.Node]extent{}, open: map[*yaml.Node]bool{}}
	e, err := m.extent(root, 0)
	if err != nil {
		return 0, err
	}
	return max(m.growth(e), 0), nil
}

// growth is by how many bytes what was measured, or some of it, is larger than it is
// written.
func (m *measurement) growth(e extent) int { return e.size() - m.length - nodeSize*m.nodes }

func tooLarge(line int) error {
	return hugeError(line, fmt.Sprintf("the document is over %d MiB larger than it is written when its aliases are expanded, and what is nested is indented: use fewer aliases", maxGrowth>>20))
}

// extent returns the extent of a node at a depth.
func (m *measurement) extent(node *yaml.Node, depth int) (extent, error) {
	if node.Kind == yaml.AliasNode {
		return m.aliased(node, depth)
	}
	if depth > maxDepth {
		return extent{}, tooDeep(node.Line)
	}
	if err := checkKeys(node); err != nil {
		return extent{}, err
	}
	if node.Anchor != "" {
		m.open[node] = true
		defer delete(m.open, node)
	}
	e := extent{nodes: 1, bytes: len(node.Value)}
	if node.Kind == yaml.MappingNode {
		e.compared = len(node.Content) / 2 * len(node.Content) / 2
	}
	m.nodes++
	for _, child := range node.Content {
		measured, err := m.extent(child, depth+1)
		if err != nil {
			return extent{}, err
		}
		e = e.holding(measured)
		if m.growth(e) > maxGrowth {
			return extent{}, tooLarge(child.Line)
		}
	}
	if node.Anchor != "" {
		m.anchors[node] = e
	}
	return e, nil
}

// aliased returns the extent of what an alias stands for.
func (m *measurement) aliased(alias *yaml.Node, depth int) (extent, error) {
	if m.open[alias.Alias] {
		return extent{}, hugeError(alias.Line, fmt.Sprintf("the alias *%s is within what it stands for: write out what it is to be", alias.Value))
	}
	e, known := m.anchors[alias.Alias]
	if !known { // only a part of the document is measured
		return m.extent(alias.Alias, depth)
	}
	if depth+e.height > maxDepth {
		return extent{}, tooDeep(alias.Line)
	}
	return e, nil
}

func tooDeep(line int) error {
	return hugeError(line, fmt.Sprintf("nested over %d levels deep: no object of Kubernetes is", maxDepth))
}

// checkKeys finds a key that a mapping has twice, or that is no text, or too many of them.
func checkKeys(mapping *yaml.Node) error {
	if mapping.Kind != yaml.MappingNode {
		return nil
	}
	if len(mapping.Content)/2 > maxKeys {
		return hugeError(mapping.Line, fmt.Sprintf("a mapping of over %d keys: split it", maxKeys))
	}
	isThere := make(map[string]bool, len(mapping.Content)/2)
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key := dereferenced(mapping.Content[i])
		if key.Kind != yaml.ScalarNode {
			return lineError{line: mapping.Content[i].Line, message: "malformed YAML: a key has to be text, not a list or mapping; a template like {{ a }} needs quotes"}
		}
		if key.ShortTag() == "!!null" {
			return lineError{line: mapping.Content[i].Line, message: fmt.Sprintf("malformed YAML: the key %q is nothing, and keys are text: put it in quotes", key.Value)}
		}
		if isThere[key.Value] {
			return lineError{line: mapping.Content[i].Line, message: fmt.Sprintf("malformed YAML: mapping key %q already defined", key.Value)}
		}
		isThere[key.Value] = true
	}
	return nil
}

// dereferenced is a node, or that which it is an alias of.
func dereferenced(node *yaml.Node) *yaml.Node {
	if node != nil && node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// expanded is a copy of a node that has what aliases stand for in their place.
func expanded(node *yaml.Node) *yaml.Node {
	whole := *dereferenced(node)
	whole.Anchor, whole.Content = "", slices.Clone(whole.Content)
	for i, child := range whole.Content {
		whole.Content[i] = expanded(child)
	}
	return &whole
}
