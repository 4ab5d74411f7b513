// Package source reads what people wrote: the kustomizations and manifests that an
// environment is built from. It finds what kustomize would stop at or hang on, and
// the file and line that a problem of a built object comes from.
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

	"example.com/gatehouse/render/object"
)

// Sources are the kustomizations and manifests that an environment is built from.
type Sources struct {
	// FS is what kustomize builds from. What cannot be built is left out of it, so
	// that the build finds the problems of the rest.
	FS *FileSystem
	// Kustomizations are those that were found, by folder.
	Kustomizations map[string]*Kustomization
	// Manifests are the files of objects, in the order of the walk, each once.
	Manifests []*Manifest
	// Problems are those found so far.
	Problems []object.Problem
	// Kinds are those that something is rendered from.
	Kinds Kinds

	fields        configuration     // those of the kinds
	configuration configuration     // what kustomizations are told of them, see yieldTo
	root          string            // the folder of the outermost kustomization
	standIns      map[string][]byte // for kustomizations, while they are walked
	unbuildable   map[string]bool   // folders
	isHuge        bool              // something is too large to build anything
	growth        int               // of all documents that were read, see measure
	loads         []load
	isLoaded      map[listed]bool
	loading       []load   // that are being followed
	texts         []string // files whose content is the value of a key
	isManifest    map[string]bool
	documents     map[string][]Document // of every file that was asked for
	changers      []string              // see changingFiles
	only          map[object.ID]string  // see OnlyFile
}

// Kustomization is a kustomization as kustomize takes it, less the entries that
// cannot be loaded.
type Kustomization struct {
	types.Kustomization

	// Folder and File are its paths, from the root.
	Folder, File string
	// Paths are what the paths in it resolve to.
	Paths map[string]string
}

// IsEmpty says whether kustomize would refuse a kustomization as one that says nothing.
func (k *Kustomization) IsEmpty() bool { return k.CheckEmpty() != nil }

// Read reads the kustomization in a folder, those in folders that are built on top of
// it, and all that they build on. Folders without a kustomization are problems.
func Read(fileSystem *FileSystem, kinds Kinds, folder string, onTop ...string) *Sources {
	s := &Sources{
		FS:             fileSystem,
		Kinds:          kinds,
		Kustomizations: map[string]*Kustomization{},
		root:           folder,
		standIns:       map[string][]byte{},
		unbuildable:    map[string]bool{},
		isLoaded:       map[listed]bool{},
		isManifest:     map[string]bool{},
		documents:      map[string][]Document{},
	}
	err := yaml.Unmarshal(kinds.Configuration, &s.fields)
	s.configuration = s.fields
	for _, folder := range append([]string{folder}, onTop...) {
		s.unbuildable[folder] = !s.walk(folder)
	}
	if err = errors.Join(err, s.writeConfiguration()); err != nil {
		panic(err) // it comes with the program
	}
	s.FS = s.FS.With(s.standIns)
	s.readManifests()
	s.checkConfigs()
	s.trustTexts()
	for _, folder := range append([]string{folder}, onTop...) {
		s.isHuge = s.isLoadedTooOften(folder) || s.isHuge
	}
	s.isHuge = s.copiesTooMuch() || s.isHuge
	return s
}

// CanBuild says whether kustomize can build a folder that was read.
func (s *Sources) CanBuild(folder string) bool { return !s.unbuildable[folder] && !s.isHuge }

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
// It may be in any namespace where the ID or the document names none.
func (s *Sources) Find(id object.ID) (found []Document) {
	for _, file := range slices.Sorted(maps.Keys(s.FS.disk.files)) {
		for _, d := range s.Documents(file) {
			if d.Kind == id.Kind && d.Name == id.Name && (id.Namespace == "" || d.Namespace == "" || d.Namespace == id.Namespace) {
				found = append(found, d)
			}
		}
	}
	return found
}

// OnlyFile is the file of the only document that is of the kind and name of an object, or
// the only one in its namespace; empty where none or several are.
func (s *Sources) OnlyFile(id object.ID) string {
	if s.only == nil {
		s.only = s.onlyFiles()
	}
	if file := s.only[id]; file != "" {
		return file
	}
	id.Namespace = ""
	return s.only[id]
}

// onlyFiles are the files of documents by IDs, with and without namespaces, that no other
// document has.
func (s *Sources) onlyFiles() map[object.ID]string {
	only := map[object.ID]string{}
	add := func(id object.ID, file string) {
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
					add(object.ID{Group: d.Group, Kind: d.Kind, Name: d.Name}, m.File)
				}
			}
		}
	}
	return only
}

// Written returns the documents that an object is built from, or generators that make it,
// in the order of files: if it can, as many as there have to be. kustomize may have changed
// its name and namespace since.
func (s *Sources) Written(id object.ID, atLeast int) []Document {
	files := make([]string, 0, len(s.Manifests)+len(s.Kustomizations))
	for _, m := range s.Manifests {
		files = append(files, m.File)
	}
	for _, k := range s.Kustomizations {
		files = append(files, k.File)
	}
	slices.Sort(files)
	var of [4][]Document // the better the match, the earlier
	for _, file := range slices.Compact(files) {
		for _, d := range s.Documents(file) {
			if d.inline || d.Kind != id.Kind || d.Name == "" || !strings.Contains(id.Name, d.Name) {
				continue
			}
			isNamed, isIn := d.Name == id.Name, cmp.Or(d.Namespace, "default") == cmp.Or(id.Namespace, "default")
			for i, matches := range []bool{isNamed && isIn, isNamed, isIn, true} {
				if matches {
					of[i] = append(of[i], d)
				}
			}
		}
	}
	for least := atLeast; least > 0; least-- {
		for _, found := range of {
			if len(found) >= least {
				return found
			}
		}
	}
	return nil
}

func (s *Sources) problem(file string, line int, format string, args ...any) {
	s.Problems = append(s.Problems, object.Problem{File: Relative(file), Line: line, Message: fmt.Sprintf(format, args...)})
}
