package text

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// A few bytes of YAML may expand to more than fits into memory, by nested aliases. A document is
// therefore measured before kustomize expands it.
const (
	// MaxGrowth bounds the growth, in bytes, of the files of an environment by aliases. Rendering
	// takes some thirty times as much memory.
	MaxGrowth = 16 << 20

	// maxIndent is the ratio of indentation to text, in block style, above which indentation counts
	// as growth. Fields like {type: string}, 40 levels deep in a CustomResourceDefinition, have 11.
	maxIndent = 16

	// maxDepth bounds the nesting of a document. Kubernetes objects do not come near.
	maxDepth = 200

	// nodeSize is the memory of a node without its text, in bytes. kustomize compares each key of a
	// mapping with each other key: this many comparisons take as long as a byte.
	nodeSize    = 32
	comparisons = 20
)

// extent is the size of a node with its aliases expanded, in block style.
type extent struct {
	nodes    int // including the node itself
	bytes    int
	indented int // bytes of indentation
	compared int // pairs of keys
}

// measurement finds the extent of a tree of nodes without expanding it.
type measurement struct {
	length  int                   // of the text
	written int                   // the size of the measured nodes without expansion
	anchors map[*yaml.Node]extent // of completely measured nodes
}

// measure returns the growth, in bytes, of a document with expanded aliases. The length is of its text.
// An error is an Error.
func measure(root *yaml.Node, length int) (growth int, err error) {
	m := &measurement{length: length, written: length, anchors: map[*yaml.Node]extent{}}
	e, err := m.extent(root, 0)
	return max(m.growth(e), 0), err
}

// growth returns the size of an extent beyond the size of the measured nodes.
func (m *measurement) growth(e extent) int {
	return e.bytes + nodeSize*e.nodes + e.compared/comparisons - m.written + max(e.indented-maxIndent*m.length, 0)
}

// extent returns the extent of a node at a depth.
func (m *measurement) extent(node *yaml.Node, depth int) (extent, error) {
	if node.Kind == yaml.AliasNode {
		e, ok := m.anchors[node.Alias]
		if !ok {
			return e, Error{node.Line, fmt.Sprintf("the alias *%s is within what it stands for: write out what it is to be", node.Value)}
		}
		return e, nil // a deep one grows too large, by its indentation
	}
	if depth > maxDepth {
		return extent{}, Error{node.Line, fmt.Sprintf("nested over %d levels deep: no object of Kubernetes is", maxDepth)}
	}
	e := extent{nodes: 1, bytes: len(node.Value)}
	if node.Kind == yaml.MappingNode {
		e.compared = len(node.Content) / 2 * len(node.Content) / 2
	}
	m.written += nodeSize
	for _, child := range node.Content {
		c, err := m.extent(child, depth+1)
		if err != nil {
			return extent{}, err
		}
		e.nodes += c.nodes
		e.bytes += c.bytes
		e.indented += c.indented + 2*c.nodes
		e.compared += c.compared
		if m.growth(e) > MaxGrowth {
			return extent{}, TooLarge(child.Line)
		}
	}
	if node.Anchor != "" {
		m.anchors[node] = e
	}
	return e, nil
}

// TooLarge returns the error of files that grow by more than MaxGrowth.
func TooLarge(line int) error {
	return Error{line, fmt.Sprintf("the files of the environment stand for over %d MiB more than is written: use fewer aliases, less nesting, and no mappings of thousands of keys", MaxGrowth>>20)}
}
