package source

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// walk reads the kustomization of a folder, and all that it loads.
func (s *Sources) walk(folder string) {
	if s.Kustomizations[folder] != nil {
		return
	}
	file := s.FS.KustomizationFile(folder)
	if file == "" {
		s.report(folder, 0, "no kustomization.yaml: write one that lists the resources of the environment")
		return
	}
	k := &Kustomization{Folder: folder, File: file, Paths: map[string]string{}, Documents: map[string][]Document{}}
	s.Kustomizations[folder] = k
	content, ok := s.readFile(file)
	if !ok {
		return
	}
	k.weight = weightOf(content)
	k.root = s.parseKustomization(k, content)
	if k.root == nil {
		return
	}
	s.documents[file] = generated(file, k.root)
	for _, l := range loaded {
		for _, list := range valuesAt(k.root, l.field) {
			for _, entry := range itemsOf(list) {
				s.walkEntry(k, l, entry)
			}
		}
	}
	s.configure(k)
	k.FixKustomization()
}

// readFile returns the content of a file, or reports why kustomize could not read it.
func (s *Sources) readFile(file string) (content []byte, ok bool) {
	_, content, err := s.FS.find(file)
	if err != nil {
		s.report(file, 0, "%v", err)
		return nil, false
	}
	return content, !s.reportConflicts(file, content)
}

// weightOf returns as how many documents a file counts that has none, see maxCopies.
func weightOf(content []byte) int { return 1 + len(content)>>14 }

// loads is a field of a kustomization that names files to load.
type loads struct {
	field string
	key   string // of an item, that has the path; empty where the item is the path
	is    loadKind
}

type loadKind int

const (
	loadObjects loadKind = iota // a file of objects, or a folder with a kustomization
	loadFolder                  // a folder with a kustomization
	loadConfig                  // as loadObjects, or objects in place of the path
	loadPatches                 // a file of patches, or the patches in place of the path
	loadPatch                   // a file of patches
	inlinePatch                 // not a path, but the patches themselves
	loadYAML                    // a file of one YAML document
	loadAny                     // a file of anything, maybe behind a name: name=file
)

func (is loadKind) mayBeFolder() bool {
	return is == loadObjects || is == loadFolder || is == loadConfig
}

var loaded = []loads{
	{"resources", "", loadObjects}, {"bases", "", loadObjects}, {"components", "", loadFolder},
	{"generators", "", loadConfig}, {"transformers", "", loadConfig}, {"validators", "", loadConfig},
	{"patches", "path", loadPatch}, {"patchesJson6902", "path", loadPatch}, {"patchesStrategicMerge", "", loadPatches},
	{"patches", "patch", inlinePatch}, {"patchesJson6902", "patch", inlinePatch},
	{"replacements", "path", loadYAML}, {"configurations", "", loadYAML}, {"crds", "", loadYAML}, {"openapi", "path", loadYAML},
	{"configMapGenerator", "files", loadAny}, {"configMapGenerator", "envs", loadAny}, {"configMapGenerator", "env", loadAny},
	{"secretGenerator", "files", loadAny}, {"secretGenerator", "envs", loadAny}, {"secretGenerator", "env", loadAny},
}

// walkEntry follows what an entry of a kustomization loads.
func (s *Sources) walkEntry(k *Kustomization, l loads, entry *yaml.Node) {
	values := []*yaml.Node{entry}
	if l.key != "" {
		values = valuesAt(entry, l.key)
	}
	for _, value := range values {
		for _, item := range itemsOf(value) {
			if item.Kind == yaml.ScalarNode && item.ShortTag() != "!!null" {
				s.walkValue(k, l, item, targetOf(entry))
			}
		}
	}
}

// targetOf returns the target of a patch, nil where it has none: an empty mapping is one, and null is not.
func targetOf(entry *yaml.Node) (target *yaml.Node) {
	for _, value := range valuesAt(entry, "target") {
		if value.ShortTag() != "!!null" {
			target = value
		}
	}
	return target
}

// walkValue follows a path that a kustomization loads, or checks the YAML in its place. A patch may
// have a target.
func (s *Sources) walkValue(k *Kustomization, l loads, value, target *yaml.Node) {
	switch {
	case l.is == inlinePatch:
		s.addPatches(k, value, target, s.readYAML(k.File, textPieces(value), l))
		return
	case (l.is == loadPatches || l.is == loadConfig) && s.isInline(k, value.Value):
		s.walkInline(k, l, value)
		return
	}
	if wrong := s.walkPath(k, value.Value, l); wrong != "" {
		s.report(k.File, value.Line, "%s", wrong)
		return
	}
	resolved := k.Paths[value.Value]
	switch l.is {
	case loadAny:
		s.texts = append(s.texts, resolved)
		s.checkConflicts(resolved, l)
	case loadYAML, loadPatch, loadPatches:
		content, ok := s.readFile(resolved)
		if !ok {
			return
		}
		k.weight += weightOf(content)
		documents := s.readYAML(resolved, splitDocuments(content), l)
		k.Documents[value.Value] = documents
		if l.field == "configurations" && len(documents) == 1 {
			s.checkFields(resolved, documents[0].Node, content, reflect.TypeFor[Configuration]())
		}
		if l.is != loadYAML {
			s.addPatches(k, value, target, documents)
		}
	default:
		s.followLoad(load{by: k, from: l, line: value.Line, path: resolved, isDir: s.FS.IsDir(resolved), isConfig: s.isInConfig || l.is == loadConfig})
	}
}

// walkPath resolves a path that a kustomization loads, or returns what is wrong with it.
func (s *Sources) walkPath(k *Kustomization, name string, l loads) (wrong string) {
	entry := name
	if _, after, ok := strings.Cut(name, "="); ok && l.is == loadAny {
		name = after
	}
	resolved, isDir, wrong := s.resolve(k.Folder, name, l)
	switch {
	case wrong != "":
		return wrong
	case isDir && !l.is.mayBeFolder():
		return name + " is a folder: write the path of a file"
	case isDir && s.FS.KustomizationFile(resolved) == "":
		return name + " has no kustomization.yaml: write one there, or list its files here"
	case !isDir && l.is == loadFolder:
		return name + " is a file: write the path of a folder with a kustomization.yaml"
	case !isDir && !strings.HasPrefix(resolved, strings.TrimSuffix(k.Folder, "/")+"/"):
		return fmt.Sprintf("%s is outside %s: kustomize loads only files below the kustomization; %s", name, Relative(k.Folder), l.insteadOfOutside())
	}
	k.Paths[entry] = resolved
	return ""
}

// insteadOfOutside returns what to do with a file outside the folder of the kustomization.
func (l loads) insteadOfOutside() string {
	switch {
	case l.field == "openapi":
		return "copy it here"
	case l.is.mayBeFolder(), l.is == loadAny:
		return "write a kustomization.yaml beside it that has it under " + l.field + ", and list that folder under resources"
	}
	return "write a kustomization.yaml of kind Component beside it that has it under " + l.field + ", and list that folder under components"
}

// readYAML returns the documents of a file, or of a text in its place. It reports what is not as a
// field takes it.
func (s *Sources) readYAML(file string, pieces []piece, l loads) (documents []Document) {
	for _, p := range pieces {
		if p.isTabbedJSON() {
			continue
		}
		parsed, growth, err := p.parse()
		node := s.admitted(file, parsed, growth, err)
		if node == nil || node.ShortTag() == "!!null" {
			continue
		}
		if s.isInConfig { // texts may become those of transformers
			s.checkTexts(file, node, maxTextLevels)
		}
		if len(documents) > 0 && (documents[0].Node.Kind == yaml.SequenceNode || l.is == loadYAML) {
			s.report(file, node.Line, "a second document, which kustomize does not read: make one of both, or a file of each")
		}
		documents = append(documents, splitDocument(file, node, false)...)
	}
	return documents
}

// patch is a document that changes objects.
type patch struct {
	Document
	kind      string // of these objects: a pattern, "" for any
	hasTarget bool   // which selects them instead of the name in the document
}

// addPatches notes the patches that are at a path, or in its place, in an entry of a kustomization,
// and the target that the entry has for them, if any.
func (s *Sources) addPatches(k *Kustomization, entry, target *yaml.Node, documents []Document) {
	k.Documents[entry.Value] = documents
	for _, d := range documents {
		if d.Node.Kind == yaml.SequenceNode && len(d.Node.Content) > 0 && target == nil {
			s.report(k.File, entry.Line, "a JSON patch needs a target: list it under patches, with target: and the kind and name of what it changes, or target: {} to change everything")
		}
		kind := d.Kind
		if target != nil { // kustomize does not read what the document says of itself
			kind, d.APIVersion = textAt(target, "kind"), ""
		}
		if d.Kind == "" && kind != "" {
			d.Kind, d.Name = kind, textAt(target, "name")
		}
		s.patches = append(s.patches, patch{d, kind, target != nil})
	}
}
