package source

import (
	"sync/atomic"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/source/text"
)

// Tree has the nodes of a document.
type Tree struct {
	node atomic.Pointer[yaml.Node] // nil if the text has to be parsed again
	line int
	text text.Document
}

func newTree(node *yaml.Node) *Tree {
	t := &Tree{}
	t.node.Store(node)
	return t
}

// Node returns the root: a mapping, or the list of a JSON 6902 patch. Its lines count from the start of
// the file.
func (t *Tree) Node() *yaml.Node {
	node := t.node.Load()
	if node == nil && t.line > 0 {
		node, _ = t.text.Parse() // without the error of a malformed text, which has no tree
		t.node.Store(node)
	}
	return node
}

// Line returns the line of the root.
func (t *Tree) Line() int {
	if t.line > 0 {
		return t.line
	}
	return t.Node().Line
}

// release frees the nodes. The text yields them again.
func (t *Tree) release(d text.Document) {
	t.line = t.Line()
	t.text = d
	t.node.Store(nil)
}

// ReleaseTrees frees the trees of manifests. They take more memory than the objects that kustomize builds, and after
// the division of a build only problems need them. Nothing else may read the sources meanwhile.
func (s *Sources) ReleaseTrees() {
	for _, m := range s.Manifests {
		for _, t := range m.Texts {
			if o := t.Objects[0]; t.isOwn && !o.Listed && !o.FromChart {
				o.release(t.Document)
			}
		}
	}
}
