package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/object"
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
	content, err := s.FS.ReadFile(file)
	if err != nil {
		s.problem(file, 0, "%v", err)
		return false
	}
	var root yaml.Node
	err = yaml.Unmarshal(content, &root)
	if err == nil {
		err = checkFinite(&root)
	}
	if err != nil {
		s.malformed(file, piece{}, err)
		return false
	}
	if err := k.Unmarshal(content); err != nil {
		s.kustomizationProblem(file, &root, err)
		return false
	}
	if len(root.Content) > 0 && s.walkEntries(k, root.Content[0]) {
		if content, err = yaml.Marshal(&root); err == nil {
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

var unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)

// kustomizationProblem notes why a kustomization cannot be read.
func (s *Sources) kustomizationProblem(file string, root *yaml.Node, err error) {
	match := unknownField.FindStringSubmatch(err.Error())
	if match == nil {
		s.problem(file, 0, "%v", err)
		return
	}
	line := 0
	if key, _ := mappingEntry(root.Content[0], match[1]); key != nil {
		line = key.Line
	}
	var known []string
	for field := range reflect.TypeFor[types.Kustomization]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		known = append(known, name)
	}
	s.problem(file, line, "unknown field %q%s", match[1], object.DidYouMean(match[1], known))
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
	loadYAML                    // a file of YAML
	loadAny                     // a file of anything, maybe behind a name: name=file
	inlineYAML                  // not a path, but YAML itself
)

var loaded = []loads{
	{"resources", "", loadObjects}, {"bases", "", loadObjects}, {"components", "", loadFolder},
	{"generators", "", loadObjects}, {"transformers", "", loadObjects}, {"validators", "", loadObjects},
	{"patches", "path", loadYAML}, {"patchesJson6902", "path", loadYAML}, {"patchesStrategicMerge", "", loadYAML},
	{"patches", "patch", inlineYAML}, {"patchesJson6902", "patch", inlineYAML},
	{"replacements", "path", loadYAML}, {"configurations", "", loadYAML}, {"crds", "", loadYAML},
	{"configMapGenerator", "files", loadAny}, {"configMapGenerator", "envs", loadAny}, {"configMapGenerator", "env", loadAny},
	{"secretGenerator", "files", loadAny}, {"secretGenerator", "envs", loadAny}, {"secretGenerator", "env", loadAny},
}

// walkEntries follows what a kustomization loads and drops what cannot be loaded.
// It says whether it dropped anything.
func (s *Sources) walkEntries(k *Kustomization, kustomization *yaml.Node) (dropped bool) {
	for _, l := range loaded {
		_, list := mappingEntry(kustomization, l.field)
		if list == nil || list.Kind != yaml.SequenceNode {
			continue
		}
		list.Content = slices.DeleteFunc(list.Content, func(entry *yaml.Node) bool {
			for _, value := range valuesOf(entry, l.key) {
				if !s.walkValue(k, value, l.is) {
					dropped = true
					return true
				}
			}
			return false
		})
	}
	return dropped
}

// valuesOf are the values in an entry, or in that of one of its keys.
func valuesOf(entry *yaml.Node, key string) []*yaml.Node {
	if key != "" {
		_, entry = mappingEntry(entry, key)
	}
	switch {
	case entry == nil:
		return nil
	case entry.Kind == yaml.SequenceNode:
		return entry.Content
	}
	return []*yaml.Node{entry}
}

// walkValue follows a path that a kustomization loads, or looks at the YAML that it
// has in its place, and says whether kustomize can load it.
func (s *Sources) walkValue(k *Kustomization, value *yaml.Node, is loadKind) bool {
	if is == inlineYAML || is == loadYAML && strings.Contains(value.Value, "\n") {
		return s.isWellFormed(k.File, textPieces(value, value.Line))
	}
	if strings.Contains(value.Value, "\n") || value.Value == "" {
		return true // within the kustomization
	}
	if wrong := s.walkPath(k, value.Value, is); wrong != "" {
		s.problem(k.File, value.Line, "%s", wrong)
		return false
	}
	resolved := k.Paths[value.Value]
	switch is {
	case loadYAML:
		return s.isWellFormedFile(resolved)
	case loadObjects, loadFolder:
		if s.FS.IsDir(resolved) {
			return s.walk(resolved)
		}
		if !s.isManifest[resolved] {
			s.isManifest[resolved] = true
			s.Manifests = append(s.Manifests, &Manifest{File: resolved})
		}
	}
	return true
}

// walkPath resolves a path that a kustomization loads, or says what is wrong with it.
func (s *Sources) walkPath(k *Kustomization, name string, is loadKind) (wrong string) {
	entry := name
	if _, after, ok := strings.Cut(name, "="); ok && is == loadAny {
		name = after
	}
	resolved, isDir, wrong := s.resolve(k.Folder, name)
	switch {
	case wrong != "":
		return wrong
	case isDir && is != loadObjects && is != loadFolder:
		return name + " is a folder: write the path of a file"
	case isDir && s.FS.KustomizationFile(resolved) == "":
		return name + " has no kustomization.yaml: write one there, or list its files here"
	case !isDir && is == loadFolder:
		return name + " is a file: write the path of a folder with a kustomization.yaml"
	case !isDir && !strings.HasPrefix(resolved, strings.TrimSuffix(k.Folder, "/")+"/"):
		return fmt.Sprintf("%s is outside %s: kustomize loads only what is below the kustomization; make a folder with a kustomization.yaml of it", name, Relative(k.Folder))
	}
	k.Paths[entry] = resolved
	return ""
}

// remote is what kustomize takes for something to fetch: a URL, a git
// repository, or a user at a host.
var remote = regexp.MustCompile(`(?i)^(git::|gh:|[a-z][a-z0-9+.-]*://|[a-z][a-z0-9-]*@|(www\.)?github\.com[:/])`)

// resolve finds a path that is written in a kustomization, or says what is wrong
// with it.
func (s *Sources) resolve(folder, name string) (resolved string, isDir bool, wrong string) {
	if remote.MatchString(name) {
		return "", false, name + " is remote: rendering reads only this repository; copy it here and write its path"
	}
	if path.IsAbs(name) {
		return "", false, fmt.Sprintf("%s is absolute: write a path relative to %s", name, Relative(folder))
	}
	resolved, isDir, err := s.FS.Resolve(path.Join(folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, name + ": no such file or folder in this repository"
	}
	if err != nil {
		return "", false, err.Error()
	}
	return resolved, isDir, ""
}

// isWellFormedFile says whether a file is YAML, or notes why it is not.
func (s *Sources) isWellFormedFile(file string) bool {
	content, err := s.FS.ReadFile(file)
	if err != nil {
		s.problem(file, 0, "%v", err)
		return false
	}
	return s.isWellFormed(file, splitDocuments(content))
}

func (s *Sources) isWellFormed(file string, pieces []piece) bool {
	before := len(s.Problems)
	for _, piece := range pieces {
		if _, err := piece.parse(); err != nil && !json.Valid(piece.content) { // JSON may have tabs, YAML not
			s.malformed(file, piece, err)
		}
	}
	return len(s.Problems) == before
}
