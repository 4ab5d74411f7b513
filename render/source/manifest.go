package source

import (
	"bytes"
	"fmt"
	"path"

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
	parsed := s.parseManifests()
	first := map[inFolder]Document{}
	dropped := map[string][]byte{}
	for i, manifest := range s.Manifests {
		if parsed[i].err != nil {
			s.problem(manifest.File, 0, "%v", parsed[i].err)
			continue
		}
		found := len(s.Problems)
		for j, p := range parsed[i].pieces {
			documents, err := parsed[i].documents[j], parsed[i].errs[j]
			if err != nil {
				s.malformed(manifest.File, p, err)
				continue
			}
			s.documents[manifest.File] = append(s.documents[manifest.File], documents...)
			if !s.isDuplicate(first, documents) && len(documents) > 0 {
				manifest.Texts = append(manifest.Texts, &Text{Content: p.content, Objects: documents})
			}
		}
		if len(s.Problems) > found {
			dropped[manifest.File] = Join(manifest.Texts)
		}
	}
	s.FS = s.FS.With(dropped)
}

// Join is the content of a file of some documents.
func Join(texts []*Text) []byte {
	contents := make([][]byte, len(texts))
	for i, text := range texts {
		contents[i] = text.Content
	}
	return bytes.Join(contents, []byte("\n---\n"))
}

// parsedManifest is the documents of a file, or errors, by piece.
type parsedManifest struct {
	err       error
	pieces    []piece
	documents [][]Document
	errs      []error
}

// parseManifests parses every manifest, several at a time.
func (s *Sources) parseManifests() []parsedManifest {
	parsed := make([]parsedManifest, len(s.Manifests))
	var parse []func()
	for i, manifest := range s.Manifests {
		p := &parsed[i]
		content, err := s.FS.ReadFile(manifest.File)
		if err != nil {
			p.err = err
			continue
		}
		p.pieces = splitDocuments(content)
		p.documents, p.errs = make([][]Document, len(p.pieces)), make([]error, len(p.pieces))
		for j := range p.pieces {
			parse = append(parse, func() { p.documents[j], p.errs[j] = p.pieces[j].documents(manifest.File) })
		}
	}
	parallel.For(len(parse), func(i int) { parse[i]() })
	return parsed
}

// inFolder is the ID of an object as the files of a folder write it.
type inFolder struct {
	folder string
	id     object.ID
}

// isDuplicate says whether one of the documents is in first already, and adds them.
func (s *Sources) isDuplicate(first map[inFolder]Document, documents []Document) bool {
	duplicate := false
	for _, d := range documents {
		// Two folders may each have such an object: kustomize may rename them.
		id := inFolder{path.Dir(d.File), d.ID}
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
	otherFile, otherLine := other.Position()
	p := object.Duplicate(fmt.Sprintf("%s:%d", otherFile, otherLine))
	p.File, p.Line, p.Object = file, line, d.String()
	return p
}
