package folder

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
)

// Kustomization is the kustomization of a folder as the tool builds it.
type Kustomization struct {
	// File is its path from the root, and Content its YAML. Both are empty if it is the file in git.
	File    string
	Content []byte
	// Others are the other files that differ from git, by their paths.
	Others map[string][]byte

	place Place
	// lines counts the first lines of Content that are those of the file in git, document.
	lines    int
	document *yamlv3.Node
	// own has the fields of the file in git, and merged the fields of Content.
	own, merged map[string]any
}

// Kustomization returns the kustomization of the folder. An invalid one is returned as it is in git.
func (p Place) Kustomization(files *source.FileSystem) (*Kustomization, error) {
	made := &Kustomization{place: p}
	var before types.Kustomization
	file := files.KustomizationFile(p.Folder)
	content := []byte(nil)
	if file == "" || p.IsDirectory {
		file = cmp.Or(file, path.Join(p.Folder, konfig.DefaultKustomizationFileName()))
		listed := p.List(files)
		before.Resources = listed.Resources
		made.Others = listed.changed
		switch {
		case len(before.Resources) > 0:
		case p.HasPatterns():
			return nil, fmt.Errorf("%s %w that spec.source.directory takes", source.Relative(p.Folder), ErrEmpty)
		default:
			return nil, fmt.Errorf("%s %w", source.Relative(p.Folder), ErrEmpty)
		}
	} else {
		var err error
		if content, err = files.ReadFile(file); err != nil {
			return nil, err
		}
		if err := yaml.Unmarshal(content, &before); err != nil {
			return made, nil //nolint:nilerr // an error where the kustomization is read
		}
		var document yamlv3.Node
		if err := yamlv3.Unmarshal(content, &document); err == nil && len(document.Content) > 0 { // or an empty file
			made.document = node.Deref(document.Content[0])
			node.TakeLast(made.document)
		}
	}
	if err := p.CheckEdit(before); err != nil && !p.IsFlux {
		return nil, err
	}
	find := func(component string) []string { return p.components(files, component) }
	var err error
	if made.merged, err = fieldsOf(p.MergeInto(before, p.IsFlux, find)); err != nil {
		return nil, err
	}
	if made.own, err = fieldsOf(before); err != nil {
		return nil, err
	}
	made.write(file, content)
	return made, nil
}

// components returns the components of the object that are there for a path or, for Argo CD, a pattern of names in one
// folder.
func (p Place) components(files *source.FileSystem, component string) (found []string) {
	above, pattern := path.Split(component)
	switch {
	case files.Exists(path.Join(p.Folder, component)):
		return []string{component}
	case p.IsFlux:
		return nil
	}
	names, _ := files.List(path.Join(p.Folder, above))
	for _, name := range names {
		if matches, err := path.Match(pattern, name); err == nil && matches {
			found = append(found, path.Join(above, name))
		}
	}
	return found
}

// ErrEmpty is the error of a folder without manifests.
var ErrEmpty = errors.New("has no YAML files")

func fieldsOf(k types.Kustomization) (fields map[string]any, err error) {
	err = manifest.Decode(k, &fields)
	maps.DeleteFunc(fields, func(_ string, value any) bool { return value == nil })
	return fields, err
}

// write sets Content to the file in git, followed by the fields that the object adds, or to all fields if the object
// changes one of the file.
func (k *Kustomization) write(file string, inGit []byte) {
	added := map[string]any{}
	keepsFile := len(inGit) > 0
	for name, value := range k.merged {
		before := k.own[name]
		if before != nil && bytes.Equal(manifest.ToYAML(before), manifest.ToYAML(value)) {
			continue
		}
		added[name] = value
		keepsFile = keepsFile && node.Field(k.document, name) == nil // an empty one is not among its own
	}
	if keepsFile && len(added) == 0 {
		return
	}
	k.File = file
	k.Content = slices.Concat(inGit, []byte("\n"), manifest.ToYAML(added))
	if keepsFile && k.hasMerged() {
		k.lines = bytes.Count(inGit, []byte("\n")) + 1
	} else {
		k.Content = slices.Concat([]byte("\n"), manifest.ToYAML(k.merged))
	}
}

// hasMerged reports whether kustomize reads the merged fields of Content: it takes no field beside a file that is one
// mapping in braces.
func (k *Kustomization) hasMerged() bool {
	var read types.Kustomization
	if err := yaml.Unmarshal(k.Content, &read); err != nil {
		return false
	}
	fields, err := fieldsOf(read)
	return err == nil && reflect.DeepEqual(fields, k.merged)
}

// HasBuildMetadata reports whether the objects have annotations of their build.
func (k *Kustomization) HasBuildMetadata() bool { return k.merged["buildMetadata"] != nil }

// Setter is what sets a line of a kustomization: a line of the file in git, or a field of the object.
type Setter struct {
	// Line is the line in git. Without a Field it is all that is set.
	Line int
	// Field is the field of the object, Entry the entry of the kustomization, and Below are the keys below both.
	Entry, Field string
	Below        []string
	// Value is a part of a text in the field, if any.
	Value manifest.Value
}

// Setter returns the setter of a line of a file, relative to the root. Sources were read with Content.
func (k *Kustomization) Setter(sources *source.Sources, file string, at int) Setter {
	if k.isInGit(file, at) {
		return Setter{Line: at}
	}
	name, index := sources.EntryAt(k.File, at)
	below, part := sources.PartAt(k.File, at, k.keysOf(name, index)...)
	return k.setter(name, index, below, part)
}

// isInGit reports whether a line is in git as it is here.
func (k *Kustomization) isInGit(file string, line int) bool {
	return k.File == "" || file != source.Relative(k.File) || line > 0 && line <= k.lines
}

// keysOf returns the keys of an entry: a field, or an item of it.
func (k *Kustomization) keysOf(name string, index int) []string {
	if _, isList := k.merged[name].([]any); isList {
		return []string{name, strconv.Itoa(index)}
	}
	return []string{name}
}

// setter returns the setter of a field below an entry, or a part of its text.
func (k *Kustomization) setter(name string, index int, below []string, part string) Setter {
	switch {
	case name == "": // no entry can be read
		return Setter{}
	case k.document == nil && name == "resources": // the tool lists them
		return Setter{Field: k.place.Field}
	}
	s := Setter{Entry: fmt.Sprintf("%s[%d]", name, index), Value: manifest.Value{Contains: part}}
	keys := append(k.keysOf(name, index), below...)
	own := decoding.At(k.own, keys)
	if k.document != nil && own != nil && reflect.DeepEqual(own, decoding.At(k.merged, keys)) {
		line, ok := node.LineAt(k.document, keys, s.Value)
		s.Line = line
		if !ok {
			s.Line = node.Line(k.document, keys...)
		}
		return s
	}
	before, _ := k.own[name].([]any)
	s.Field = k.place.fieldOf(name)
	if _, isList := k.merged[name].([]any); isList && index >= len(before) && s.Field != k.place.Field {
		s.Field += fmt.Sprintf("[%d]", index-len(before)) // the tool appends its items
	}
	s.Below = below
	return s
}

// fieldOf returns the field of the object that sets a field of the kustomization.
func (p Place) fieldOf(name string) string {
	switch {
	case !p.IsFlux:
		if name == "labels" {
			name = "commonLabels"
		}
		return strings.TrimSuffix(p.Field, "path") + "kustomize." + name
	case name == "namespace":
		return "spec.targetNamespace"
	case name == "buildMetadata": // Flux sets it as well
		return "spec.path"
	}
	return "spec." + name
}
