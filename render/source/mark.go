package source

import (
	"bytes"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Copy returns a node of its own of an object of a manifest, as it is built.
func (s *Sources) Copy(d Document) (*yaml.Node, bool) {
	for _, text := range s.textsOf(d.File) {
		i := slices.IndexFunc(text.Objects, d.is)
		if i < 0 {
			continue
		}
		if _, objects := text.copies(d.File); i < len(objects) {
			return objects[i].Node, true
		}
	}
	return nil, false
}

// Marked returns the content of a manifest, as far as its texts are to be kept, in which
// objects have their numbers in a field.
func (s *Sources) Marked(file string, objects map[int]Document, field string, keep func(*Text) bool) ([]byte, bool) {
	texts := slices.DeleteFunc(slices.Clone(s.textsOf(file)), func(t *Text) bool { return !keep(t) })
	contents := make([][]byte, len(texts))
	for t, text := range texts {
		contents[t] = text.Content
		root, copies := text.copies(file)
		isMarked := false
		for number, d := range objects {
			if i := slices.IndexFunc(text.Objects, d.is); i >= 0 && i < len(copies) {
				copies[i].Node.Content = append(copies[i].Node.Content, textNode(field), textNode(strconv.Itoa(number)))
				isMarked = true
			}
		}
		if !isMarked {
			continue
		}
		var err error
		if contents[t], err = yaml.Marshal(root); err != nil {
			return nil, false
		}
	}
	return bytes.Join(contents, []byte("\n---\n")), len(texts) > 0
}

// textsOf are the texts of a manifest.
func (s *Sources) textsOf(file string) []*Text {
	for _, m := range s.Manifests {
		if m.File == file {
			return m.Texts
		}
	}
	return nil
}

// copies parses a text again: all of it, and the objects in it.
func (t *Text) copies(file string) (root *yaml.Node, objects []Document) {
	root, _, err := piece{content: t.Content}.parse()
	if err != nil || root == nil { // it was well-formed before
		return nil, nil
	}
	root = expanded(root)
	return root, splitDocument(Document{File: file, Node: root})
}

func (d Document) is(other Document) bool { return d.Node == other.Node }

func textNode(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: text}
}
