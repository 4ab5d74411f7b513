package source

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
)

// Manifest is a file of objects.
type Manifest struct {
	// File is the file, from the root.
	File string
	// Texts are the YAML documents of the file.
	Texts []*Text
}

// Text is one YAML document of a manifest.
type Text struct {
	Content []byte
	// Objects are the object in it, or those of a List.
	Objects []Document
}

// readManifests reads the manifests that were found, and reports malformed YAML, what is no
// object, and objects that are there twice.
func (s *Sources) readManifests() {
	var pieces []parsedPiece
	for _, m := range s.Manifests {
		if content, ok := s.readFile(m.File); ok {
			for _, p := range splitDocuments(content) {
				pieces = append(pieces, parsedPiece{piece: p, manifest: m})
			}
		}
	}
	parallel.For(len(pieces), func(i int) {
		p := &pieces[i]
		p.node, p.growth, p.err = p.parse()
	})
	for _, p := range pieces {
		s.addPiece(p)
	}
	// Two kustomizations may each load an object of one ID: they may rename them.
	type inList struct {
		list string
		id   manifest.ID
	}
	first := map[inList]Document{}
	for _, l := range s.loads {
		list := l.list()
		for _, d := range s.documents[l.path] {
			other, isThere := first[inList{list, d.ID}]
			if isThere && d.Name != "" {
				s.Problems = append(s.Problems, DuplicateProblem(d, other))
			} else {
				first[inList{list, d.ID}] = d
			}
		}
	}
}

// parsedPiece is a piece of a manifest, and what came of parsing it.
type parsedPiece struct {
	piece
	manifest *Manifest
	node     *yaml.Node
	growth   int
	err      error
}

// addPiece adds what was parsed of a manifest to it, and reports what is wrong with that.
func (s *Sources) addPiece(p parsedPiece) {
	m := p.manifest
	node := s.admitted(m.File, p.node, p.growth, p.err)
	if node == nil {
		return
	}
	documents := splitDocument(m.File, node, false)
	if len(documents) == 0 {
		return
	}
	for _, d := range documents {
		if wrong, node := notAnObject(d); wrong != "" {
			s.report(m.File, node.Line, "%s", wrong)
		}
	}
	m.Texts = append(m.Texts, &Text{Content: p.content, Objects: documents})
	s.documents[m.File] = append(s.documents[m.File], documents...)
}

// notAnObject returns why kustomize does not take a document of a manifest, or an item of a
// list, for an object, and where; "" if it does.
func notAnObject(d Document) (wrong string, node *yaml.Node) {
	metadata := Field(d.Node, "metadata")
	mayMerge := func(node *yaml.Node) bool { return Field(node, "<<") != nil }
	switch {
	case d.Node.ShortTag() == "!!null", d.Node.Kind == yaml.MappingNode && len(d.Node.Content) == 0: // kustomize drops it
	case d.Node.Kind != yaml.MappingNode:
		return "is no object: write one with apiVersion, kind and metadata.name", d.Node
	case mayMerge(d.Node), mayMerge(metadata): // it may have these from there
	case d.Kind == "":
		return "is no object: it has no kind", d.Node
	case d.Name == "" && textAt(metadata, "generateName") != "":
		return "metadata.generateName: each sync would make another object: write metadata.name", d.Node
	default:
		if wrong, node = wrongMetadata(d.Node, metadata); node != nil {
			return wrong, node
		}
		if d.Name == "" && !manifest.IsListKind(d.Kind) {
			return "is no object: it has no metadata.name", d.Node
		}
	}
	return "", nil
}

// wrongMetadata returns the metadata of an object that have a type that kustomize stops at, or
// drops.
func wrongMetadata(object, metadata *yaml.Node) (wrong string, node *yaml.Node) {
	for _, field := range []struct {
		parent    *yaml.Node
		name, tag string
		wrong     string
	}{
		{object, "metadata", "!!map", "metadata: has to be a mapping"},
		{metadata, "name", "!!str", "metadata.name: has to be text: put it in quotes"},
		{metadata, "namespace", "!!str", "metadata.namespace: has to be text: put it in quotes"},
		{metadata, "labels", "!!map", "metadata.labels: has to be a mapping of texts"},
		{metadata, "annotations", "!!map", "metadata.annotations: has to be a mapping of texts"},
	} {
		if value := Field(field.parent, field.name); value != nil && value.ShortTag() != field.tag && value.ShortTag() != "!!null" {
			return field.wrong, value
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		for key, value := range entries(Field(metadata, field)) {
			if value.Kind != yaml.ScalarNode && key.ShortTag() != "!!merge" {
				return fmt.Sprintf("metadata.%s.%s: has to be text", field, key.Value), value
			}
		}
	}
	return "", nil
}

// Join returns the content of a file of some documents of one, in their order there.
func Join(texts []*Text) []byte {
	var content bytes.Buffer
	for _, text := range texts { // each but the last of the file ends with its line
		content.WriteString("---\n")
		content.Write(bytes.TrimPrefix(text.Content, []byte(byteOrderMark)))
	}
	return content.Bytes()
}

// DuplicateProblem returns the problem of a document of an object that another document has.
func DuplicateProblem(d, other Document) manifest.Problem {
	p := manifest.Duplicate(position(other.File, other.Node.Line))
	p.File, p.Line = d.Position()
	p.Object = d.String()
	return p
}

// position returns a position as people write it: file:line.
func position(file string, line int) string {
	return manifest.Problem{File: Relative(file), Line: line}.Position()
}
