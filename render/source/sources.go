// Package source reads the source files of an environment: its kustomizations and manifests. It
// reports input that stops or hangs kustomize, and finds the file and line of a problem with a built
// object.
//
// Reading is a walk over folders. It returns a tree of values, and each check is a function of them.
// Package text parses YAML, and package node finds fields in it.
package source

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	sigsyaml "sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source/charts"
	"example.com/gatehouse/render/source/node"
)

// Sources are the source files of an environment. They do not change after Read.
type Sources struct {
	// FS is the file system that kustomize builds from.
	FS *FileSystem
	// Kustomizations are the kustomizations by folder.
	Kustomizations map[string]*Kustomization
	// Manifests are the files of objects, in the order of the walk, each once.
	Manifests []*Manifest
	// Definitions are manifests that no kustomization loads.
	Definitions []*Manifest
	// Charts are the entries of helmCharts.
	Charts []Chart
	// Problems are the problems that stop or mislead kustomize.
	Problems []manifest.Problem
	// Absent are entries of kustomizations that are left out.
	Absent []Absent

	kindFields Configuration // of the kinds
	loads      []load
	patches    []patchDocument
	documents  map[string][]Document      // of manifests, and generators of kustomizations, by file
	files      []string                   // the keys of documents, sorted
	settings   map[*Tree]*charts.Settings // of the charts of objects
}

// Read reads the kustomization in a folder, the kustomizations in the folders onTop, which build on
// top of it, everything that they load, and the manifests in the folders of definitions. The
// configuration is a file of `configurations:` that tells kustomize about fields of kinds. One memo
// keeps the files in the folder, another one the files that several environments may load.
func Read(own, shared *memo.Memo, fileSystem *FileSystem, configuration []byte, clusterOf ClusterOf,
	definitions []string, folder string, onTop ...string) *Sources {
	s := &Sources{FS: fileSystem, Kustomizations: map[string]*Kustomization{}, documents: map[string][]Document{},
		settings: map[*Tree]*charts.Settings{}}
	if err := sigsyaml.Unmarshal(configuration, &s.kindFields); err != nil {
		panic(err) // it comes with the program
	}
	memoOf := func(file string) *memo.Memo {
		if strings.HasPrefix(file, folder+"/") {
			return own
		}
		return shared
	}
	w := &walk{Sources: s, root: folder, inherited: map[string]string{}, isChecked: map[string]bool{}}
	roots := append([]string{folder}, onTop...)
	for i, root := range roots {
		w.isOverride = i > 0
		w.visit(root, "", false)
	}
	manifests, problems := readManifests(memoOf, fileSystem, w.manifestFiles())
	defined, problemsOfDefined := readFolders(memoOf, fileSystem, definitions, w.manifestFiles())
	ofCharts, found := w.readCharts(own, slices.Concat(manifests, defined), clusterOf)
	s.Manifests = slices.Concat(manifests, ofCharts)
	s.Definitions = defined
	for _, m := range slices.Concat(s.Manifests, defined) {
		s.documents[m.File] = m.objects()
	}
	plugins, wrong := checkConfigs(s.loads, s.documents)
	s.Absent = append(s.Absent, plugins...)
	problems = slices.Concat(w.problems, checkKinds(s.loads, s.Kustomizations), problems, found, problemsOfDefined,
		checkDuplicates(s.loads, s.documents), wrong)
	for _, k := range w.order {
		s.Absent = append(s.Absent, k.absent...)
		if k.root != nil {
			s.documents[k.File] = generators(k.File, k.root)
		}
		problems = slices.Concat(problems, k.problems, checkPatches(k), checkGenerators(k),
			incompleteReplacements(ReplacementsOf(k)))
		s.patches = append(s.patches, k.patches...)
	}
	s.addCharts(ofCharts)
	s.files = slices.DeleteFunc(slices.Sorted(maps.Keys(s.documents)), isOfChart)
	s.FS = s.FS.With(configurationFiles(s.FS, w.order, s.kindFields))
	if !manifest.HasErrors(problems) {
		problems = append(problems, checkLoads(roots, s)...)
	}
	s.Problems = problems
	return s
}

// walk is a walk over the folders that kustomizations load. It fills Sources.
type walk struct {
	*Sources
	root     string           // the folder of the environment
	order    []*Kustomization // each after the folders that it loads
	problems problems

	isOverride bool
	inherited  map[string]string // the namespace of charts by folder, see checkInherited
	isChecked  map[string]bool
}

// visit reads the kustomization of a folder and visits the folders that it loads. The charts in it
// inherit a namespace.
func (w *walk) visit(folder, namespace string, isConfig bool) {
	if w.Kustomizations[folder] != nil {
		w.checkInherited(folder, namespace)
		return
	}
	file := w.FS.KustomizationFile(folder)
	if file == "" {
		w.problems.add(path.Join(folder, "kustomization.yaml"), 0,
			"does not exist: write one that lists the resources of the environment")
		return
	}
	k := readShared(w.FS, folder, file, folder == w.root, isConfig)
	w.Kustomizations[folder] = k
	w.checkFetched(k)
	for _, l := range k.loads {
		if l.isDir {
			w.visit(l.path, cmp.Or(k.Namespace, namespace), l.isConfig)
		}
		w.loads = append(w.loads, l)
	}
	w.leaveOutRemote(k)
	if len(k.HelmCharts) > 0 {
		w.replaceCharts(k, namespace, isConfig)
	}
	w.order = append(w.order, k)
}

// readShared is readKustomization, once for all environments that share a revision. Each reads its own kustomization
// for itself, one with entries that the walk replaces, and one with problems, which may look at more.
func readShared(files *FileSystem, folder, file string, isRoot, isConfig bool) *Kustomization {
	type key struct {
		folder   string
		isConfig bool
	}
	type reading struct {
		*Kustomization
		looked *Looks
		read   []string
	}
	shared := files.shared()
	if shared == nil || isRoot {
		return readKustomization(files, folder, file, isRoot, isConfig)
	}
	r := memo.Get(shared, key{folder, isConfig}, func() reading {
		alone, looked := NewFileSystem(files.revision, files.dir, files.look).Noting()
		k := readKustomization(alone, folder, file, isRoot, isConfig)
		return reading{k, looked, alone.FilesRead()}
	})
	if len(r.HelmCharts)+len(r.problems)+len(r.absent) > 0 {
		return readKustomization(files, folder, file, isRoot, isConfig)
	}
	for name := range r.looked.paths {
		_, _, _ = files.Resolve(name) // as this reading does
	}
	for _, name := range r.read {
		_, _ = files.ReadAny(name)
	}
	return r.Kustomization
}

// manifestFiles returns the files of objects, in the order of the walk, each once.
func (w *walk) manifestFiles() (files []string) {
	isKnown := map[string]bool{}
	for _, l := range w.loads {
		if !l.isDir && !isKnown[l.path] && !isOfChart(l.path) {
			isKnown[l.path] = true
			files = append(files, l.path)
		}
	}
	return files
}

// problems are problems with lines of files.
type problems []manifest.Problem

func (p *problems) add(file string, line int, format string, args ...any) {
	*p = append(*p, manifest.Problem{Code: manifest.InvalidKustomization,
		File: Relative(file), Line: line, Message: fmt.Sprintf(format, args...)})
}

// Documents returns the objects of a manifest, or the generators of a kustomization.
func (s *Sources) Documents(file string) []Document { return s.documents[file] }

// SourceDocuments returns the documents and generators that may produce the object, best match
// first. Names and namespaces may differ: kustomize transforms them.
func (s *Sources) SourceDocuments(id manifest.ID) []Document {
	all := make([]Document, 0, len(s.files))
	for _, file := range s.files {
		all = append(all, bestMatches(id, s.documents[file])...)
	}
	return bestMatches(id, all)
}

// Find returns the documents, generators and patches that may produce the object, best match first.
func (s *Sources) Find(id manifest.ID) []Document {
	all := s.SourceDocuments(id)
	for _, p := range s.patches {
		all = append(all, p.Document)
	}
	return bestMatches(id, all)
}

// bestMatches returns the documents of id's kind whose name may be part of id.Name, most similar
// first. An ID in an error of kustomize has no group: it matches any.
func bestMatches(id manifest.ID, documents []Document) (found []Document) {
	for _, d := range documents {
		isGenerator := d.APIVersion == konfig.BuiltinPluginApiVersion && d.Kind == id.Kind+"Generator"
		if (d.Kind == id.Kind || isGenerator) && d.Name != "" && strings.Contains(id.Name, d.Name) &&
			(id.Group == "" || d.Group == id.Group) {
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
		return cmp.Or(cmp.Compare(len(b.Name), len(a.Name)), cmp.Compare(a.Group, b.Group),
			cmp.Compare(distance(a), distance(b)))
	})
	return found
}

// Line returns the line of a field of a kustomization, or of the innermost mapping around a missing
// field.
func (s *Sources) Line(file string, keys ...string) int {
	return node.Line(s.Kustomizations[path.Dir(file)].root, keys...)
}

// EntryAt returns the last field of a kustomization that begins at a line or above, and the index of its item there.
func (s *Sources) EntryAt(file string, line int) (name string, index int) {
	for key, value := range node.Entries(s.Kustomizations[path.Dir(file)].root) {
		if key.Line > line {
			break
		}
		name = key.Value
		index = 0
		for i, item := range node.Items(value) {
			if item.Line <= line {
				index = i
			}
		}
	}
	return name, index
}

// PartAt returns the keys below an entry of a kustomization at a line, and the rest of a block of text that begins
// there.
func (s *Sources) PartAt(file string, line int, entry ...string) (below []string, rest string) {
	root := s.Kustomizations[path.Dir(file)].root
	if root == nil {
		return nil, ""
	}
	_, value := node.Walk(root, entry, nil)
	for value != nil && value.Kind == yaml.MappingNode {
		var name string
		var in *yaml.Node
		for key, entry := range node.Entries(value) {
			if key.Line <= line {
				name = key.Value
				in = entry
			}
		}
		if name == "" { // the line of the mapping
			return below, ""
		}
		below = append(below, name)
		value = in
	}
	if value != nil && value.Style&yaml.LiteralStyle != 0 && line > value.Line {
		lines := strings.SplitAfter(value.Value, "\n")
		rest = strings.Join(lines[min(line-value.Line-1, len(lines)):], "")
	}
	return below, rest
}

// quoted matches the parts of an error of kustomize that may be values of files.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[^\s'"{}\[\],]+`)

// FindMention returns the position of the longest value in a field of a kustomization, or anywhere in it and
// in its patches, that an error of kustomize quotes: otherwise the field, or the first line.
func (s *Sources) FindMention(kustomization, field, message string) (file string, line int) {
	isQuoted := map[string]bool{}
	for _, part := range quoted.FindAllString(message, -1) {
		if text, err := strconv.Unquote(part); err == nil {
			part = text
		}
		isQuoted[part] = true
	}
	longest := 0
	file = Relative(kustomization)
	line = 1
	look := func(in string, root *yaml.Node) {
		for n := range node.All(root) {
			if n.Kind == yaml.ScalarNode && isQuoted[n.Value] && len(n.Value) > longest {
				file = Relative(in)
				line = n.Line
				longest = len(n.Value)
			}
		}
	}
	for _, k := range append([]*Kustomization{s.Kustomizations[path.Dir(kustomization)]}, s.sorted()...) {
		if key, value := node.Entry(k.root, field); key != nil {
			look(k.File, value)
		} else if field == "" && k.File == kustomization {
			for _, d := range append([]patchDocument{{Document: Document{File: k.File, Tree: newTree(k.root)}}},
				k.patches...) {
				look(d.File, d.Node())
			}
		}
	}
	return file, line
}

// CRLF returns the files of generators with CRLF line ends, relative to the root.
func (s *Sources) CRLF() (files []string) {
	for _, k := range s.sorted() {
		for _, file := range k.CRLF {
			files = append(files, Relative(file))
		}
	}
	return files
}

func (s *Sources) sorted() (sorted []*Kustomization) {
	for _, folder := range slices.Sorted(maps.Keys(s.Kustomizations)) {
		sorted = append(sorted, s.Kustomizations[folder])
	}
	return sorted
}
