package source

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// walk reads the kustomization of a folder and those that it builds on, and says
// whether it can be built.
func (s *Sources) walk(folder string) bool {
	if _, visited := s.Kustomizations[folder]; visited {
		return true
	}
	file := s.FS.KustomizationFile(folder)
	if file == "" {
		s.problem(folder, 0, "no kustomization.yaml: write one that lists the resources of the environment")
		return false
	}
	k := &Kustomization{Folder: folder, File: file, Paths: map[string]string{}}
	s.Kustomizations[folder] = k
	content, err := s.FS.content(file)
	if err != nil {
		s.problem(file, 0, "%v", err)
		return false
	}
	if s.reportConflicts(file, conflicts(content)) {
		return false
	}
	root, ok := s.parseKustomization(k, content)
	if !ok {
		return false
	}
	if s.walkEntries(k, root) {
		if content, err = yaml.Marshal(expanded(root)); err == nil { // an anchor may be dropped too
			err = k.Unmarshal(content)
		}
		if err != nil {
			s.problem(file, 0, "%v", err)
			return false
		}
		s.standIns[file] = content
	}
	if err := s.configure(k); err != nil {
		s.problem(file, 0, "%v", err)
		return false
	}
	k.FixKustomization()
	return true
}

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
	loadPatch                   // a file of YAML, or objects in place of the path
	loadYAML                    // a file of YAML
	loadAny                     // a file of anything, maybe behind a name: name=file
	inlineYAML                  // not a path, but YAML itself
)

func (is loadKind) mayBeFolder() bool {
	return is == loadObjects || is == loadFolder || is == loadConfig
}

var loaded = []loads{
	{"resources", "", loadObjects}, {"bases", "", loadObjects}, {"components", "", loadFolder},
	{"generators", "", loadConfig}, {"transformers", "", loadConfig}, {"validators", "", loadConfig},
	{"patches", "path", loadYAML}, {"patchesJson6902", "path", loadYAML}, {"patchesStrategicMerge", "", loadPatch},
	{"patches", "patch", inlineYAML}, {"patchesJson6902", "patch", inlineYAML},
	{"replacements", "path", loadYAML}, {"configurations", "", loadYAML}, {"crds", "", loadYAML}, {"openapi", "path", loadYAML},
	{"configMapGenerator", "files", loadAny}, {"configMapGenerator", "envs", loadAny}, {"configMapGenerator", "env", loadAny},
	{"secretGenerator", "files", loadAny}, {"secretGenerator", "envs", loadAny}, {"secretGenerator", "env", loadAny},
}

// walkEntries follows what a kustomization loads and drops what cannot be loaded.
// It says whether it dropped anything.
func (s *Sources) walkEntries(k *Kustomization, kustomization *yaml.Node) (dropped bool) {
	for _, l := range loaded {
		for _, list := range valuesAt(kustomization, l.field) {
			if list.Kind != yaml.SequenceNode {
				s.walkEntry(k, l, list)
				continue
			}
			list.Content = slices.DeleteFunc(list.Content, func(entry *yaml.Node) bool {
				drop := !s.walkEntry(k, l, dereferenced(entry))
				dropped = dropped || drop
				return drop
			})
		}
	}
	return dropped
}

// walkEntry follows what an entry loads, and says whether kustomize can load it.
func (s *Sources) walkEntry(k *Kustomization, l loads, entry *yaml.Node) bool {
	canLoad := true
	for _, value := range valuesOf(entry, l.key) {
		if value.Kind == yaml.ScalarNode && value.ShortTag() != "!!null" && !s.walkValue(k, l, value) {
			canLoad = false
		}
	}
	if !canLoad {
		return false
	}
	if l.field == "patches" && l.key != "" && isNothing(entry, "target") && s.isJSONPatch(k, l, entry) {
		s.problem(k.File, entry.Line, "patches: a JSON 6902 patch without a target: write one, as with kind and name")
		return false
	}
	return true
}

// isJSONPatch says whether a patch, of which a file or a text is looked at, is a list of
// operations.
func (s *Sources) isJSONPatch(k *Kustomization, l loads, entry *yaml.Node) bool {
	for _, value := range valuesAt(entry, l.key) {
		content := []byte(value.Value)
		if l.is == loadYAML {
			content, _ = s.FS.content(k.Paths[value.Value]) // it was read before
		}
		if documents := Parse(content); len(documents) > 0 && documents[0].Node.Kind == yaml.SequenceNode {
			return true
		}
	}
	return false
}

// valuesAt are the values of a key, however that is spelled: kustomize takes any case.
func valuesAt(node *yaml.Node, key string) (values []*yaml.Node) {
	if node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if strings.EqualFold(node.Content[i].Value, key) {
			values = append(values, dereferenced(node.Content[i+1]))
		}
	}
	return values
}

// valuesOf are the values in an entry, or in that of one of its keys.
func valuesOf(entry *yaml.Node, key string) (values []*yaml.Node) {
	entries := []*yaml.Node{entry}
	if key != "" {
		entries = valuesAt(entry, key)
	}
	for _, entry := range entries {
		if entry.Kind != yaml.SequenceNode {
			values = append(values, entry)
			continue
		}
		for _, item := range entry.Content {
			values = append(values, dereferenced(item))
		}
	}
	return values
}

// walkValue follows a path that a kustomization loads, or looks at the YAML that it
// has in its place, and says whether kustomize can load it.
func (s *Sources) walkValue(k *Kustomization, l loads, value *yaml.Node) bool {
	switch {
	case l.is == inlineYAML:
		return s.isWellFormed(k.File, textPieces(value, place{}), l)
	case (l.is == loadPatch || l.is == loadConfig) && s.isInline(k, value.Value):
		return s.walkInline(k, l, value)
	}
	if wrong := s.walkPath(k, value.Value, l); wrong != "" {
		s.problem(k.File, value.Line, "%s", wrong)
		return false
	}
	resolved := k.Paths[value.Value]
	switch l.is {
	case loadAny:
		s.texts = append(s.texts, resolved)
		return !s.isConflicted(resolved, l)
	case loadYAML, loadPatch:
		return s.isWellFormedFile(resolved, l)
	}
	return s.walkLoad(load{by: k, from: l, line: value.Line, path: resolved, isDir: s.FS.IsDir(resolved), configures: s.configured(k, l)})
}

// walkPath resolves a path that a kustomization loads, or says what is wrong with it.
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
	case isDir && holdsDots(name):
		return name + ` has ".." within a name, which kustomize refuses: rename the folder`
	case !isDir && l.is == loadFolder:
		return name + " is a file: write the path of a folder with a kustomization.yaml"
	case !isDir && !strings.HasPrefix(resolved, strings.TrimSuffix(k.Folder, "/")+"/"):
		return fmt.Sprintf("%s is outside %s: kustomize loads only what is below the kustomization; %s", name, Relative(k.Folder), l.insteadOfOutside())
	}
	k.Paths[entry] = resolved
	return ""
}

// insteadOfOutside is what to do with a file that is outside the folder of the
// kustomization that loads it.
func (l loads) insteadOfOutside() string {
	switch l.field {
	case "resources", "bases":
		return "make a folder with a kustomization.yaml of it"
	case "generators", "transformers", "validators":
		return "make a folder with a kustomization.yaml that lists it under resources, and list the folder here"
	case "configMapGenerator", "secretGenerator":
		return "make a folder with a kustomization.yaml that generates from it, and list the folder under resources"
	case "openapi":
		return "copy it here"
	}
	return "make a folder of it with a kustomization.yaml of kind Component that has it under " + l.field + ", and list the folder under components"
}

// isWellFormedFile says whether a file is YAML as a field takes it, or notes why it is
// not.
func (s *Sources) isWellFormedFile(file string, l loads) bool {
	content, err := s.FS.content(file)
	if err != nil {
		s.problem(file, 0, "%v", err)
		return false
	}
	if s.reportConflicts(file, conflicts(content)) {
		return false
	}
	return s.isWellFormed(file, splitDocuments(content), l)
}

func (s *Sources) isWellFormed(file string, pieces []piece, l loads) bool {
	before := len(s.Problems)
	var first *yaml.Node
	for _, piece := range pieces {
		node, growth, err := piece.parse()
		if isMalformed(err) && json.Valid(piece.content) { // JSON may have tabs, YAML not
			continue
		}
		if err != nil {
			s.malformed(file, piece, err)
			continue
		}
		if node == nil || node.ShortTag() == "!!null" {
			continue
		}
		s.grow(file, piece, node, growth)
		if s.configured(nil, loads{}) != nil { // texts may become those of transformers
			s.checkTexts(file, piece.place, node, maxTextLevels)
		}
		switch {
		case first != nil && (first.Kind == yaml.SequenceNode || l.takesOne()):
			s.problem(file, piece.line(node.Line), "a second document, which kustomize does not read: make one of both, or a file of each")
		case strings.HasPrefix(l.field, "patches") && l.is != loadPatch:
			s.checkPatch(file, piece, node)
		}
		if first == nil {
			first = node
		}
	}
	return len(s.Problems) == before
}

// checkPatch notes why kustomize does not take a document for a patch, if it does not.
func (s *Sources) checkPatch(file string, p piece, node *yaml.Node) {
	if node.Kind == yaml.ScalarNode {
		s.problem(file, p.line(node.Line), "%s is no patch: write an object, or a list of JSON 6902 operations", clip(node.Value))
		return
	}
	if node.Kind == yaml.SequenceNode && p.content[0] == '[' && !json.Valid(p.content) {
		s.problem(file, p.line(node.Line), "a patch that starts with [ has to be JSON: write keys and texts in double quotes, or each operation on a line that starts with a dash")
		return
	}
	if node.Kind != yaml.MappingNode {
		return
	}
	for _, d := range splitDocument(Document{Node: node}) {
		wrong, _ := notAnObject(d)
		if wrong == "" {
			continue
		}
		s.problem(file, p.line(node.Line), "a patch %s: kustomize wants kind and metadata.name in it, also where it has a target", strings.TrimPrefix(wrong, "is no object: it "))
	}
}

// takesOne says whether kustomize reads but the first document of what a field names.
func (l loads) takesOne() bool {
	switch l.field {
	case "patchesJson6902", "replacements", "configurations", "crds", "openapi":
		return true
	}
	return false
}
