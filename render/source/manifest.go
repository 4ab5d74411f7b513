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

	unfilled []byte // the content before images were filled in; nil where none were
}

// readManifests reads the manifests that were found, and reports malformed YAML, what is no
// object, and objects that are there twice.
func (s *Sources) readManifests() {
	manifests := map[string]*Manifest{}
	for i, parsed := range s.parseManifests() {
		manifests[s.Manifests[i].File] = s.Manifests[i]
		s.readManifest(s.Manifests[i], parsed)
	}
	first := map[inList]Document{}
	for _, l := range s.loads {
		if m := manifests[l.path]; m != nil {
			for _, text := range m.Texts {
				s.checkDuplicates(first, l, text.Objects)
			}
		}
	}
}

// readManifest adds what was parsed of a manifest, and reports what is wrong with it.
func (s *Sources) readManifest(m *Manifest, pieces []parsedPiece) {
	for _, p := range pieces {
		err := p.err
		if err == nil && len(p.documents) > 0 {
			err = s.FS.disk.admit(m.File, p.growth, p.documents[0].Node.Line)
		}
		if err != nil {
			s.reportMalformed(m.File, p.piece, err)
			continue
		}
		for _, d := range p.documents {
			if wrong, node := notAnObject(d); wrong != "" {
				s.report(m.File, p.line(node.Line), "%s", wrong)
			}
		}
		if len(p.documents) > 0 {
			m.Texts = append(m.Texts, &Text{Content: p.content, Objects: p.documents})
		}
		s.documents[m.File] = append(s.documents[m.File], p.documents...)
	}
}

// notAnObject returns why kustomize does not take a document of a manifest, or an item of a
// list, for an object, and where; "" if it does.
func notAnObject(d Document) (wrong string, node *yaml.Node) {
	_, metadata := mappingEntry(d.Node, "metadata")
	mayMerge := func(node *yaml.Node) bool { return node != nil && len(valuesAt(node, "<<")) > 0 }
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
		if _, value := mappingEntry(field.parent, field.name); value != nil && value.ShortTag() != field.tag && value.ShortTag() != "!!null" {
			return field.wrong, value
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		_, values := mappingEntry(metadata, field)
		content := contentOf(values)
		for i := 1; i < len(content); i += 2 {
			if value := dereferenced(content[i]); value.Kind != yaml.ScalarNode && content[i-1].ShortTag() != "!!merge" {
				return fmt.Sprintf("metadata.%s.%s: has to be text", field, content[i-1].Value), value
			}
		}
	}
	return "", nil
}

// Join returns the content of a file of some documents.
func Join(texts []*Text) []byte {
	contents := make([][]byte, len(texts))
	for i, text := range texts {
		contents[i] = text.Content
	}
	return bytes.Join(contents, []byte("\n---\n"))
}

// parsedPiece is a piece of a manifest, and what is in it.
type parsedPiece struct {
	piece
	documents []Document
	growth    int
	err       error
}

// parseManifests parses every manifest, several at a time.
func (s *Sources) parseManifests() [][]parsedPiece {
	parsed := make([][]parsedPiece, len(s.Manifests))
	var parse []func()
	for i, manifest := range s.Manifests {
		content, ok := s.readFile(manifest.File)
		if !ok {
			continue
		}
		pieces := splitDocuments(content)
		parsed[i] = make([]parsedPiece, len(pieces))
		for j := range pieces {
			p := &parsed[i][j]
			p.piece = pieces[j]
			parse = append(parse, func() { p.documents, p.growth, p.err = p.piece.documents(manifest.File) })
		}
	}
	parallel.For(len(parse), func(i int) { parse[i]() })
	return parsed
}

// inList is the ID of an object in a list where kustomize takes no two of one.
type inList struct {
	list string
	id   manifest.ID
}

// checkDuplicates reports documents of a load that are in first already, and adds the others.
func (s *Sources) checkDuplicates(first map[inList]Document, l load, documents []Document) {
	for _, d := range documents {
		// Two kustomizations may each load such an object: they may rename them.
		id := inList{l.list(), d.ID}
		if other, ok := first[id]; ok && d.Name != "" {
			s.Problems = append(s.Problems, DuplicateProblem(d, other))
			continue
		}
		first[id] = d
	}
}

// DuplicateProblem returns the problem of a document of an object that another document has.
func DuplicateProblem(d, other Document) manifest.Problem {
	file, line := d.Position()
	p := manifest.Duplicate(other.At())
	p.File, p.Line, p.Object = file, line, d.String()
	return p
}
