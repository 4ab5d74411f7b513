package source

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
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

	notExact []manifest.Problem // see NumberProblems
}

// readManifests reads the manifests that were found, and reports malformed YAML, what is no
// object, and objects that are there twice.
func (s *Sources) readManifests() {
	contents, parsed := make([][]byte, len(s.Manifests)), make([][]parsedText, len(s.Manifests))
	for i, m := range s.Manifests {
		if content, ok := s.readFile(m.File); ok {
			contents[i] = content
		}
	}
	parallel.For(len(parsed), func(i int) {
		file := s.Manifests[i].File
		parsed[i] = memo.Get(s.memo, manifestContent{file, sha256.Sum256(contents[i])}, func() []parsedText { return parseManifest(file, contents[i]) })
	})
	for i, m := range s.Manifests {
		for _, p := range parsed[i] {
			s.addText(m, p)
		}
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

// manifestContent is what the texts of a manifest are parsed from.
type manifestContent struct {
	file    string
	content [sha256.Size]byte
}

// parsedText is what came of parsing a text of a manifest.
type parsedText struct {
	*Text
	node     *yaml.Node
	growth   int
	err      error
	problems []manifest.Problem
}

// parseManifest parses the texts of a manifest.
func parseManifest(file string, content []byte) []parsedText {
	pieces := splitDocuments(content)
	parsed := make([]parsedText, len(pieces))
	parallel.For(len(pieces), func(i int) {
		p := &parsed[i]
		p.Text = &Text{Content: pieces[i].content}
		if p.node, p.growth, p.err = pieces[i].parse(); p.node == nil {
			return
		}
		p.Objects = splitDocument(file, p.node, false)
		for _, d := range p.Objects {
			if wrong, node := notAnObject(d); wrong != "" {
				p.problems = append(p.problems, manifest.Problem{File: Relative(file), Line: node.Line, Message: wrong})
			}
			p.notExact = append(p.notExact, d.numberProblems()...)
		}
	})
	return parsed
}

// addText adds what was parsed of a manifest to it, and reports what is wrong with that.
func (s *Sources) addText(m *Manifest, p parsedText) {
	if s.admitted(m.File, p.node, p.growth, p.err) == nil || len(p.Objects) == 0 {
		return
	}
	s.Problems = append(s.Problems, p.problems...)
	m.Texts = append(m.Texts, p.Text)
	s.documents[m.File] = append(s.documents[m.File], p.Objects...)
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
