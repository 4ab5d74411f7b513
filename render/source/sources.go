// Package source reads what people wrote: the kustomizations and manifests that an
// environment is built from. It reports what kustomize would stop at or hang on, and
// locates the file and line that a problem of a built object comes from.
package source

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
	sigsyaml "sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
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

	fields        Configuration         // those of the kinds
	configuration Configuration         // what kustomizations are told of them, see yieldTo
	root          string                // the folder of the outermost kustomization
	standIns      map[string][]byte     // for kustomizations, while they are walked
	documents     map[string][]Document // of manifests, and the generators of kustomizations
	files         []string              // that have them, sorted
	patches       []patch
	texts         []string // files whose content is the value of a key
	loads         []load
	isInConfig    bool // while a folder is walked, see load
	isListed      map[listed]bool
	memo          *memo.Memo
}

// Kustomization is a kustomization as kustomize takes it.
type Kustomization struct {
	types.Kustomization

	// Folder and File are its paths, from the root.
	Folder, File string
	// Paths are what the paths in it resolve to.
	Paths map[string]string
	// Documents are those of its patches, by their path or, in place of that, their text.
	Documents map[string][]Document

	root   *yaml.Node
	weight int // see weightOf
}

// IsEmpty reports whether kustomize would refuse a kustomization as it says nothing.
func (k *Kustomization) IsEmpty() bool { return k.CheckEmpty() != nil }

// Read reads the kustomization in a folder, those in folders that are built on top of it,
// and all that they build on. Folders without a kustomization are problems. The configuration, a file
// of `configurations:`, tells kustomize about the kinds that something is rendered from.
func Read(m *memo.Memo, fileSystem *FileSystem, configuration []byte, folder string, onTop ...string) *Sources {
	s := &Sources{
		FS:             fileSystem,
		Kustomizations: map[string]*Kustomization{},
		root:           folder,
		standIns:       map[string][]byte{},
		documents:      map[string][]Document{},
		isListed:       map[listed]bool{},
		memo:           m,
	}
	fileSystem.disk.growth = 0
	if err := sigsyaml.Unmarshal(configuration, &s.fields); err != nil {
		panic(err) // it comes with the program
	}
	s.configuration = s.fields
	roots := append([]string{folder}, onTop...)
	for _, root := range roots {
		s.walk(root)
	}
	s.writeConfiguration()
	s.FS = s.FS.With(s.standIns)
	s.readManifests()
	s.files = slices.Sorted(maps.Keys(s.documents))
	s.checkConfigs()
	for _, folder := range slices.Sorted(maps.Keys(s.Kustomizations)) {
		s.checkPatches(s.Kustomizations[folder])
		s.checkReplacements(s.Kustomizations[folder])
	}
	if len(s.Problems) == 0 {
		s.checkLoads(roots)
	}
	return s
}

// Documents returns the objects of a manifest, or the entries of a kustomization that generate
// some.
func (s *Sources) Documents(file string) []Document { return s.documents[file] }

// Written returns the documents that an object may be built from, and generators that may make
// it, the closest first. kustomize may have changed the name and namespace since.
func (s *Sources) Written(id manifest.ID) []Document {
	all := make([]Document, 0, len(s.files))
	for _, file := range s.files {
		all = append(all, closest(id, s.documents[file])...)
	}
	return closest(id, all)
}

// Find returns what Written does, and patches, the closest first.
func (s *Sources) Find(id manifest.ID) []Document {
	return closest(id, append(s.Written(id), s.Patches(id)...))
}

// Patches returns the patches of an object, the closest first.
func (s *Sources) Patches(id manifest.ID) []Document {
	all := make([]Document, len(s.patches))
	for i, p := range s.patches {
		all[i] = p.Document
	}
	return closest(id, all)
}

// closest returns the documents of the kind of an object whose name may have become that of the
// object, and of these first the one whose name and namespace have most in common with it. No
// group is that of the core or, in an ID that kustomize prints, any.
func closest(id manifest.ID, documents []Document) (found []Document) {
	for _, d := range documents {
		if d.Kind == id.Kind && d.Name != "" && strings.Contains(id.Name, d.Name) && (id.Group == "" || d.Group == id.Group) {
			found = append(found, d)
		}
	}
	distance := func(d Document) int {
		if cmp.Or(d.Namespace, "default") == cmp.Or(id.Namespace, "default") {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(found, func(a, b Document) int {
		return cmp.Or(cmp.Compare(len(b.Name), len(a.Name)), cmp.Compare(a.Group, b.Group), cmp.Compare(distance(a), distance(b)))
	})
	return found
}

func (s *Sources) report(file string, line int, format string, args ...any) {
	s.Problems = append(s.Problems, manifest.Problem{File: Relative(file), Line: line, Message: fmt.Sprintf(format, args...)})
}
