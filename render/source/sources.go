// Package source reads what people wrote: the kustomizations and manifests that an
// environment is built from. It reports what kustomize would stop at or hang on, and
// locates the file and line that a problem of a built object comes from.
package source

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
)

// Sources are the kustomizations and manifests that an environment is built from.
type Sources struct {
	// FS is the file system that kustomize builds from.
	FS *FileSystem
	// Kustomizations are those that were found, by folder.
	Kustomizations map[string]*Kustomization
	// Manifests are the files of objects, in the order of the walk, each once.
	Manifests []*Manifest
	// Problems are why kustomize could not build what was read, or not as it was meant.
	Problems []manifest.Problem
	// Kinds are those that something is rendered from.
	Kinds Kinds

	fields        configuration     // those of the kinds
	configuration configuration     // what kustomizations are told of them, see yieldTo
	root          string            // the folder of the outermost kustomization
	standIns      map[string][]byte // for kustomizations, while they are walked
	loads         []load
	loading       []load   // that are being followed
	texts         []string // files whose content is the value of a key
	isManifest    map[string]bool
	documents     map[string][]Document  // of every file that was asked for
	changers      []string               // see changingFiles
	only          map[manifest.ID]string // see OnlyFile
}

// Kustomization is a kustomization as kustomize takes it.
type Kustomization struct {
	types.Kustomization

	// Folder and File are its paths, from the root.
	Folder, File string
	// Paths are what the paths in it resolve to.
	Paths map[string]string

	weight int // see weightOf
}

// IsEmpty reports whether kustomize would refuse a kustomization as it says nothing.
func (k *Kustomization) IsEmpty() bool { return k.CheckEmpty() != nil }

// Read reads the kustomization in a folder, those in folders that are built on top of it,
// and all that they build on. Folders without a kustomization are problems.
func Read(fileSystem *FileSystem, kinds Kinds, folder string, onTop ...string) *Sources {
	s := &Sources{
		FS:             fileSystem,
		Kinds:          kinds,
		Kustomizations: map[string]*Kustomization{},
		root:           folder,
		standIns:       map[string][]byte{},
		isManifest:     map[string]bool{},
		documents:      map[string][]Document{},
	}
	fileSystem.disk.growth = 0
	err := yaml.Unmarshal(kinds.Configuration, &s.fields)
	s.configuration = s.fields
	roots := append([]string{folder}, onTop...)
	for _, root := range roots {
		s.walk(root)
	}
	if err = errors.Join(err, s.writeConfiguration()); err != nil {
		panic(err) // it comes with the program
	}
	s.FS = s.FS.With(s.standIns)
	s.readManifests()
	s.checkConfigs()
	for _, folder := range slices.Sorted(maps.Keys(s.Kustomizations)) {
		s.checkReplacements(s.Kustomizations[folder])
	}
	if len(s.Problems) == 0 { // nothing loads itself
		s.checkCopies(roots)
	}
	return s
}

// CanBuild reports whether kustomize can build what was read.
func (s *Sources) CanBuild(string) bool { return len(s.Problems) == 0 }

// Documents returns the documents of a file that are well formed.
func (s *Sources) Documents(file string) []Document {
	if documents, ok := s.documents[file]; ok {
		return documents
	}
	var documents []Document
	if content, err := s.FS.disk.read(file); err == nil {
		documents = parse(file, content)
	}
	s.documents[file] = documents
	return documents
}

// Find returns the documents of an object, or patches of it, in the order of files.
// An ID or document without a namespace matches any.
func (s *Sources) Find(id manifest.ID) (found []Document) {
	for _, file := range slices.Sorted(maps.Keys(s.FS.disk.files)) {
		for _, d := range s.Documents(file) {
			if d.Kind == id.Kind && d.Name == id.Name && (id.Namespace == "" || d.Namespace == "" || d.Namespace == id.Namespace) {
				found = append(found, d)
			}
		}
	}
	return found
}

// OnlyFile returns the file of the only document with the ID of an object, or with its kind
// and name; "" if there are none or several.
func (s *Sources) OnlyFile(id manifest.ID) string {
	if s.only == nil {
		s.only = s.onlyFiles()
	}
	if file := s.only[id]; file != "" {
		return file
	}
	id.Namespace = ""
	return s.only[id]
}

// onlyFiles returns the files of documents by ID, with and without namespace, "" where several
// documents have one ID.
func (s *Sources) onlyFiles() map[manifest.ID]string {
	only := map[manifest.ID]string{}
	add := func(id manifest.ID, file string) {
		if _, ok := only[id]; ok {
			file = ""
		}
		only[id] = file
	}
	for _, m := range s.Manifests {
		for _, text := range m.Texts {
			for _, d := range text.Objects {
				add(d.ID, m.File)
				if d.Namespace != "" {
					add(manifest.ID{Group: d.Group, Kind: d.Kind, Name: d.Name}, m.File)
				}
			}
		}
	}
	return only
}

// Written returns the documents that an object may be built from, and generators that may make
// it, in the order of files: those that match best, of which there are atLeast so many if that
// can be. kustomize may have changed the name and namespace since.
func (s *Sources) Written(id manifest.ID, atLeast int) []Document {
	files := make([]string, 0, len(s.Manifests)+len(s.Kustomizations))
	for _, m := range s.Manifests {
		files = append(files, m.File)
	}
	for _, k := range s.Kustomizations {
		files = append(files, k.File)
	}
	slices.Sort(files)
	var matching [4][]Document // the better the match, the earlier
	for _, file := range slices.Compact(files) {
		for _, d := range s.Documents(file) {
			if d.inline || d.Kind != id.Kind || d.Name == "" || !strings.Contains(id.Name, d.Name) {
				continue
			}
			isNamed, isIn := d.Name == id.Name, cmp.Or(d.Namespace, "default") == cmp.Or(id.Namespace, "default")
			for i, matches := range []bool{isNamed && isIn, isNamed, isIn, true} {
				if matches {
					matching[i] = append(matching[i], d)
				}
			}
		}
	}
	for least := atLeast; least > 0; least-- {
		for _, found := range matching {
			if len(found) >= least {
				return found
			}
		}
	}
	return nil
}

func (s *Sources) report(file string, line int, format string, args ...any) {
	s.Problems = append(s.Problems, manifest.Problem{File: Relative(file), Line: line, Message: fmt.Sprintf(format, args...)})
}
