package source

import (
	"fmt"
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
	k := &Kustomization{Folder: folder, File: file, Paths: map[string]string{}}
	s.Kustomizations[folder] = k
	content, ok := s.readFile(file)
	if !ok {
		return
	}
	k.weight = weightOf(content)
	root := s.parseKustomization(k, content)
	if root == nil {
		return
	}
	for _, l := range loaded {
		for _, list := range valuesAt(root, l.field) {
			if list.Kind != yaml.SequenceNode {
				s.walkEntry(k, l, list)
				continue
			}
			for _, entry := range list.Content {
				s.walkEntry(k, l, dereferenced(entry))
			}
		}
	}
	if err := s.configure(k); err != nil {
		s.report(file, 0, "%v", err)
	}
	k.FixKustomization()
}

// readFile returns the content of a file, or reports why kustomize could not read it.
func (s *Sources) readFile(file string) (content []byte, ok bool) {
	content, err := s.FS.content(file)
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

// walkEntry follows what an entry of a kustomization loads.
func (s *Sources) walkEntry(k *Kustomization, l loads, entry *yaml.Node) {
	entries := []*yaml.Node{entry}
	if l.key != "" {
		entries = valuesAt(entry, l.key)
	}
	for _, entry := range entries {
		values := []*yaml.Node{entry}
		if entry.Kind == yaml.SequenceNode {
			values = entry.Content
		}
		for _, value := range values {
			if value = dereferenced(value); value.Kind == yaml.ScalarNode && value.ShortTag() != "!!null" {
				s.walkValue(k, l, value)
			}
		}
	}
}

// valuesAt returns the values of a key, however that is spelled: kustomize takes any case.
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

// walkValue follows a path that a kustomization loads, or checks the YAML in its place.
func (s *Sources) walkValue(k *Kustomization, l loads, value *yaml.Node) {
	switch {
	case l.is == inlineYAML:
		s.checkYAML(k.File, textPieces(value, place{}), l)
		return
	case (l.is == loadPatch || l.is == loadConfig) && s.isInline(k, value.Value):
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
	case loadYAML, loadPatch:
		if content, ok := s.readFile(resolved); ok {
			k.weight += weightOf(content)
			s.checkYAML(resolved, splitDocuments(content), l)
		}
	default:
		s.followLoad(load{by: k, from: l, line: value.Line, path: resolved, isDir: s.FS.IsDir(resolved), isConfig: s.isConfig(l)})
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
	case isDir && hasDots(name):
		return name + ` has ".." within a name, which kustomize refuses: rename the folder`
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

// checkYAML reports why a file, or a text in its place, is not YAML as a field takes it.
func (s *Sources) checkYAML(file string, pieces []piece, l loads) {
	var first *yaml.Node
	for _, p := range pieces {
		if p.isTabbedJSON() {
			continue
		}
		node := s.parse(file, p)
		if node == nil || node.ShortTag() == "!!null" {
			continue
		}
		if s.isConfig(loads{}) { // texts may become those of transformers
			s.checkTexts(file, p.place, node, maxTextLevels)
		}
		if first != nil && (first.Kind == yaml.SequenceNode || l.takesOne()) {
			s.report(file, p.line(node.Line), "a second document, which kustomize does not read: make one of both, or a file of each")
		}
		if first == nil {
			first = node
		}
	}
}

// takesOne reports whether kustomize reads only the first document of what a field names.
func (l loads) takesOne() bool {
	switch l.field {
	case "patchesJson6902", "replacements", "configurations", "crds", "openapi":
		return true
	}
	return false
}
