package source

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/parallel"
)

// Manifest is a file of objects.
type Manifest struct {
	// File is the file, from the root.
	File string
	// Texts are the YAML documents of the file, but for those with problems.
	Texts []*Text
}

// Text is one YAML document of a manifest.
type Text struct {
	Content []byte
	// Objects are those in it: several where it is a List.
	Objects []Document

	unfilled []byte // the content before images were filled in; nil where none were
}

// readManifests reads the manifests that were found, and leaves out of the build
// what kustomize would stop at, one at a time, or hang on: malformed YAML and
// objects that are there twice.
func (s *Sources) readManifests() {
	isWhole := map[*Manifest]bool{}
	manifests := map[string]*Manifest{}
	for i, parsed := range s.parseManifests() {
		m := s.Manifests[i]
		manifests[m.File] = m
		before := len(s.Problems)
		s.readManifest(m, parsed)
		isWhole[m] = len(s.Problems) == before
	}
	first := map[inAccumulator]Document{}
	for _, l := range s.loads {
		m := manifests[l.path]
		if m == nil {
			continue
		}
		count := len(m.Texts)
		m.Texts = slices.DeleteFunc(slices.Clone(m.Texts), func(text *Text) bool { return s.isDuplicate(first, l, text.Objects) })
		isWhole[m] = isWhole[m] && len(m.Texts) == count
	}
	dropped := map[string][]byte{}
	for _, m := range s.Manifests {
		if !isWhole[m] {
			dropped[m.File] = Join(m.Texts)
		}
	}
	s.FS = s.FS.With(dropped)
}

// readManifest takes over what was parsed of a manifest, and notes what is wrong.
func (s *Sources) readManifest(m *Manifest, parsed parsedManifest) {
	if parsed.err != nil {
		s.problem(m.File, 0, "%v", parsed.err)
		return
	}
	if s.reportConflicts(m.File, parsed.conflicts) {
		return
	}
	growth := 0
	for i, p := range parsed.pieces {
		text := parsed.texts[i]
		if text.err != nil {
			s.malformed(m.File, p, text.err)
			continue
		}
		before := len(s.Problems)
		for _, d := range text.documents {
			if wrong, node := notAnObject(d); wrong != "" {
				s.problem(m.File, p.line(node.Line), "%s", wrong)
			}
		}
		if len(s.Problems) > before {
			continue
		}
		if len(text.documents) > 0 {
			s.grow(m.File, p, text.documents[0].Node, text.growth)
			growth += text.growth
			m.Texts = append(m.Texts, &Text{Content: p.content, Objects: text.documents})
		}
		s.documents[m.File] = append(s.documents[m.File], text.documents...)
	}
	s.FS.disk.vetted(m.File, growth)
}

// notAnObject says why kustomize does not take a document of a manifest, or an item of a
// list, for an object, if it does not.
func notAnObject(d Document) (wrong string, node *yaml.Node) {
	_, metadata := mappingEntry(d.Node, "metadata")
	wrong, node = wrongMetadata(d.Node, metadata)
	switch {
	case d.Node.ShortTag() == "!!null", d.Node.Kind == yaml.MappingNode && len(d.Node.Content) == 0: // nothing is no object, and no harm
	case d.Node.Kind != yaml.MappingNode:
		return "is no object: write one with apiVersion, kind and metadata.name", d.Node
	case len(valuesAt(d.Node, "<<"))+len(valuesAt(orNothing(metadata), "<<")) > 0: // it may have these from there
	case d.Kind == "":
		return "is no object: it has no kind", d.Node
	case node != nil:
		return wrong, node
	case emptySubject(d.Node) != nil:
		return "subjects: an entry that is empty: write one with kind and name, or remove it", emptySubject(d.Node)
	case d.Name == "" && textAt(metadata, "generateName") != "":
		return "metadata.generateName: each sync would make another object: write metadata.name", d.Node
	case d.Name == "" && !strings.HasSuffix(d.Kind, "List"):
		return "is no object: it has no metadata.name", d.Node
	}
	return "", nil
}

// wrongMetadata says what of the metadata of an object has a type that kustomize stops at,
// and where that is.
func wrongMetadata(object, metadata *yaml.Node) (wrong string, node *yaml.Node) {
	for _, field := range []struct {
		of        *yaml.Node
		name, tag string
		wrong     string
	}{
		{object, "metadata", "!!map", "metadata: has to be a mapping"},
		{metadata, "name", "!!str", "metadata.name: has to be text: put it in quotes"},
		{metadata, "namespace", "!!str", "metadata.namespace: has to be text: put it in quotes"},
		{metadata, "labels", "!!map", "metadata.labels: has to be a mapping of texts"},
		{metadata, "annotations", "!!map", "metadata.annotations: has to be a mapping of texts"},
	} {
		if _, value := mappingEntry(field.of, field.name); value != nil && value.ShortTag() != field.tag && value.ShortTag() != "!!null" {
			return field.wrong, value
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		_, values := mappingEntry(metadata, field)
		for i := 1; values != nil && i < len(values.Content); i += 2 {
			if key := values.Content[i-1]; field == "annotations" && key.Kind == yaml.ScalarNode && key.Value == "" {
				return "metadata.annotations: a key that is empty: write one, or remove the entry", key
			}
			if value := dereferenced(values.Content[i]); value.Kind != yaml.ScalarNode && values.Content[i-1].ShortTag() != "!!merge" {
				return fmt.Sprintf("metadata.%s.%s: has to be text", field, values.Content[i-1].Value), value
			}
		}
	}
	return "", nil
}

// emptySubject is an entry of a binding that is empty, at which kustomize stops; nil where
// there is none.
func emptySubject(binding *yaml.Node) *yaml.Node {
	_, subjects := mappingEntry(binding, "subjects")
	if subjects == nil || subjects.Kind != yaml.SequenceNode {
		return nil
	}
	for _, entry := range subjects.Content {
		if dereferenced(entry).ShortTag() == "!!null" {
			return entry
		}
	}
	return nil
}

// orNothing is a node, or one of nothing.
func orNothing(node *yaml.Node) *yaml.Node {
	if node == nil {
		return &yaml.Node{}
	}
	return node
}

// Join is the content of a file of some documents.
func Join(texts []*Text) []byte {
	contents := make([][]byte, len(texts))
	for i, text := range texts {
		contents[i] = text.Content
	}
	return bytes.Join(contents, []byte("\n---\n"))
}

// Without returns the files that have some documents, without those.
func (s *Sources) Without(documents []Document) map[string][]byte {
	isOut := map[*yaml.Node]bool{}
	for _, d := range documents {
		isOut[d.Node] = true
	}
	files := map[string][]byte{}
	for _, m := range s.Manifests {
		left := slices.DeleteFunc(slices.Clone(m.Texts), func(text *Text) bool {
			return slices.ContainsFunc(text.Objects, func(d Document) bool { return isOut[d.Node] })
		})
		if len(left) < len(m.Texts) {
			files[m.File] = Join(left)
		}
	}
	return files
}

// parsedManifest is what is in the pieces of a file.
type parsedManifest struct {
	err       error
	conflicts []conflict
	pieces    []piece
	texts     []parsedText
}

type parsedText struct {
	documents []Document
	growth    int
	err       error
}

// parseManifests parses every manifest, several at a time.
func (s *Sources) parseManifests() []parsedManifest {
	parsed := make([]parsedManifest, len(s.Manifests))
	var parse []func()
	for i, manifest := range s.Manifests {
		p := &parsed[i]
		content, err := s.FS.content(manifest.File)
		if err != nil {
			p.err = err
			continue
		}
		if p.conflicts = conflicts(content); len(p.conflicts) > 0 {
			continue
		}
		p.pieces = splitDocuments(content)
		p.texts = make([]parsedText, len(p.pieces))
		for j := range p.pieces {
			text := &p.texts[j]
			parse = append(parse, func() { text.documents, text.growth, text.err = p.pieces[j].documents(manifest.File) })
		}
	}
	parallel.For(len(parse), func(i int) { parse[i]() })
	return parsed
}

// inAccumulator is the ID of an object where kustomize takes no two of one.
type inAccumulator struct {
	accumulator string
	id          object.ID
}

// isDuplicate says whether one of the documents of a load is in first already, and adds
// them.
func (s *Sources) isDuplicate(first map[inAccumulator]Document, l load, documents []Document) bool {
	duplicate := false
	for _, d := range documents {
		// Two kustomizations may each load such an object: they may rename them.
		id := inAccumulator{l.accumulator(), d.ID}
		if other, ok := first[id]; ok && d.Name != "" {
			s.Problems = append(s.Problems, DuplicateProblem(d, other))
			duplicate = true
			continue
		}
		first[id] = d
	}
	return duplicate
}

// DuplicateProblem is the problem of a document of an object that is in another
// document as well.
func DuplicateProblem(d, other Document) object.Problem {
	file, line := d.Position()
	p := object.Duplicate(other.At())
	p.File, p.Line, p.Object = file, line, d.String()
	return p
}
