package source

import (
	"reflect"
	"testing"

	"example.com/gatehouse/render/source/text"
)

func TestReleasedTreeHasTheSameNodes(t *testing.T) {
	for _, d := range text.Split([]byte("# first\na: &b {c: 1}\n---\nkind: A\nb: &b {d: e}\nlist: [a, *b]\n")) {
		node, err := d.Parse()
		if err != nil {
			t.Fatal(err)
		}
		tree := newTree(node)
		line := tree.Line()
		tree.release(d)
		if tree.Line() != line || tree.node.Load() != nil {
			t.Errorf("line %d, not %d, or the nodes are still there", tree.Line(), line)
		}
		if again := tree.Node(); again == node || !reflect.DeepEqual(again, node) || tree.Node() != again || tree.Line() != line {
			t.Errorf("%q has other nodes", d.Content)
		}
	}
}
