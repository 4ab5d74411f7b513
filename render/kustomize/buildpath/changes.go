package buildpath

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// Entry is an entry of a kustomization that may change objects.
type Entry struct {
	Kustomization *source.Kustomization
	Field         string   // of the kustomization, as patches
	Index         int      // in a list
	Name          string   // as patches[0], or namespace
	Keys          []string // of the entry in the kustomization
	Loads         string   // the path of a file in the entry, if any
	// Patch and Generator are the entry as one of these, or nil.
	Patch     *Patch
	Generator *Generator
}

// changing are the fields of a kustomization that change objects, in the order of configureBuiltinTransformers in
// api/internal/target of kustomize.
var changing = []string{
	"configMapGenerator", "secretGenerator", "patchesStrategicMerge", "patches", "namespace", "namePrefix",
	"nameSuffix", "labels", "commonLabels", "commonAnnotations", "patchesJson6902", "replicas", "images",
	"replacements", "transformers", "vars", "buildMetadata",
}

func valueOf(k *types.Kustomization, field string) reflect.Value {
	return reflect.ValueOf(k).Elem().FieldByName(strings.ToUpper(field[:1]) + field[1:])
}

// Entries returns the entries of kustomizations that change objects, in the order of kustomize.
func (p *Paths) Entries(folders ...string) (all []Entry) {
	for i, folder := range folders {
		if slices.Contains(folders[:i], folder) { // a component may be in several kustomizations
			continue
		}
		k := p.Sources.Kustomizations[folder]
		generators := p.Generators[folder] // in the order of changing
		patches := p.Patches[folder]       // the same
		for _, field := range changing {
			value := valueOf(&k.Kustomization, field)
			if value.Kind() != reflect.Slice {
				if !value.IsZero() {
					all = append(all, Entry{Kustomization: k, Field: field, Name: field, Keys: []string{field}})
				}
				continue
			}
			for i := range value.Len() {
				e := Entry{Kustomization: k, Field: field, Index: i, Name: fmt.Sprintf("%s[%d]", field, i),
					Keys: []string{field, strconv.Itoa(i)}, Loads: fileOf(k, value.Index(i))}
				if len(patches) > 0 && patches[0].Field == field && patches[0].Index == i {
					e.Patch = &patches[0]
					patches = patches[1:]
				}
				if len(generators) > 0 && generators[0].Field() == field && generators[0].Index == i {
					e.Generator = &generators[0]
					generators = generators[1:]
				}
				all = append(all, e)
			}
		}
	}
	return all
}

// fileOf returns the path in an entry of a list, or "".
func fileOf(k *source.Kustomization, entry reflect.Value) (file string) {
	if entry.Kind() == reflect.Struct {
		entry = entry.FieldByName("Path")
	}
	if entry.Kind() == reflect.String && k.Paths[entry.String()] != "" {
		file = entry.String()
	}
	return file
}

// Until returns the build paths of a build without the changes by some folders after an entry: without all of
// them if the entry is nil.
func (p *Paths) Until(folders []string, last *Entry) (*Paths, error) {
	files := map[string][]byte{}
	s := *p.Sources
	s.Kustomizations = maps.Clone(s.Kustomizations)
	isLater := last == nil
	for i, folder := range folders {
		k := *p.Sources.Kustomizations[folder]
		isLast := last != nil && k.File == last.Kustomization.File
		if slices.Contains(folders[:i], folder) || !isLater && !isLast {
			continue
		}
		for _, field := range changing {
			value := valueOf(&k.Kustomization, field)
			if isLater {
				cut(value, 0)
			} else if isLater = field == last.Field; isLater {
				cut(value, last.Index+1)
			}
		}
		if k.IsEmpty() { // kustomize refuses it
			k.GeneratorOptions = &types.GeneratorOptions{}
		}
		content, err := yaml.Marshal(k.Kustomization)
		if err != nil {
			return nil, err
		}
		s.Kustomizations[folder] = &k
		files[k.File] = content
	}
	s.FS = s.FS.With(files)
	return Find(&s, p.Folder), nil
}

// cut removes the changes by the entries of a field after the first n. A generator that merges then merges nothing.
func cut(field reflect.Value, n int) {
	isList := field.Kind() == reflect.Slice
	switch {
	case field.IsZero():
	case isList && strings.HasSuffix(field.Type().Elem().Name(), "Args"):
		list := reflect.AppendSlice(reflect.MakeSlice(field.Type(), 0, field.Len()), field)
		for i := n; i < list.Len(); i++ {
			g := list.Index(i).FieldByName("GeneratorArgs").Addr().Interface().(*types.GeneratorArgs)
			if !(Generator{GeneratorArgs: *g}).creates() {
				*g = types.GeneratorArgs{Namespace: g.Namespace, Name: g.Name, Behavior: types.BehaviorMerge.String()}
			}
		}
		field.Set(list)
	case n == 0:
		field.SetZero()
	case isList:
		field.Set(field.Slice3(0, n, n))
	}
}

// Overrides returns the folders of overrides, in the order of their changes.
func (p *Paths) Overrides(folder string) []string {
	return append(p.componentsIn(p.Sources.Kustomizations[folder], p.Sources.Kustomizations[folder].Components), folder)
}

// Changing returns the kustomizations that may change the object of a path, in the order of their changes.
func (p *Paths) Changing(path Path) (found []*source.Kustomization) {
	for i, folder := range path.Folders {
		if k := p.Sources.Kustomizations[folder]; p.mayChange(k, p.Candidate(&path, i), k.File) {
			found = append(found, k)
		}
	}
	return found
}

// Uses reports whether a file has the source object of a path or may change the object.
func (p *Paths) Uses(path Path, file string) bool {
	if path.Document.File == file {
		return true
	}
	for i, folder := range path.Folders {
		if p.mayChange(p.Sources.Kustomizations[folder], p.Candidate(&path, i), file) {
			return true
		}
	}
	return false
}

// OverridesUse reports whether a file of the overrides in a folder may change a rendered object.
func (p *Paths) OverridesUse(folder string, rendered manifest.Object, file string) bool {
	c := NewCandidate(rendered)
	return slices.ContainsFunc(p.Overrides(folder), func(folder string) bool {
		return p.mayChange(p.Sources.Kustomizations[folder], c, file)
	})
}

// mayChange reports whether a file may change a candidate: as the kustomization, or as a file that the
// kustomization loads for the candidate.
func (p *Paths) mayChange(k *source.Kustomization, c Candidate, file string) bool {
	isLoaded := func(entry string) bool { return entry != "" && k.Paths[entry] == file }
	return slices.ContainsFunc(p.Entries(k.Folder), func(e Entry) bool {
		g := e.Generator
		switch {
		case g != nil && g.matches(c) && slices.ContainsFunc(g.Files(), isLoaded):
			return true
		case g != nil && !g.changes(c), e.Patch != nil && !e.Patch.Selects(c):
			return false
		}
		return k.File == file || isLoaded(e.Loads)
	})
}
