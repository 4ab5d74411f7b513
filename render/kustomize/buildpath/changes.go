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
	Name          string   // as patches[0], or namespace
	Keys          []string // of the entry in the kustomization
	Loads         string   // the path of a file in the entry, if any
	field         string   // of types.Kustomization
	index         int      // in a list
}

// changing are the fields of a kustomization that change objects, in the order of configureBuiltinTransformers in
// api/internal/target of kustomize.
var changing = []string{
	"ConfigMapGenerator", "SecretGenerator", "PatchesStrategicMerge", "Patches", "Namespace", "NamePrefix",
	"NameSuffix", "Labels",
	"CommonLabels", "CommonAnnotations", "PatchesJson6902", "Replicas", "Images", "Replacements", "Transformers",
	"Vars", "BuildMetadata",
}

// Entries returns the entries of kustomizations that change objects, in the order of kustomize.
func (p *Paths) Entries(folders ...string) (all []Entry) {
	for i, folder := range folders {
		k := p.Sources.Kustomizations[folder]
		for _, field := range changing {
			value := reflect.ValueOf(k.Kustomization).FieldByName(field)
			name := strings.ToLower(field[:1]) + field[1:]
			switch {
			case slices.Contains(folders[:i], folder): // a component may be in several kustomizations
			case value.Kind() == reflect.Slice:
				for i := range value.Len() {
					all = append(all, Entry{k, fmt.Sprintf("%s[%d]", name, i), []string{name, strconv.Itoa(i)},
						fileOf(k, value.Index(i)), field, i})
				}
			case !value.IsZero():
				all = append(all, Entry{k, name, []string{name}, "", field, 0})
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
	s, files := *p.Sources, map[string][]byte{}
	s.Kustomizations = maps.Clone(s.Kustomizations)
	isLater := last == nil
	for i, folder := range folders {
		k := *p.Sources.Kustomizations[folder]
		isLast := last != nil && k.File == last.Kustomization.File
		if slices.Contains(folders[:i], folder) || !isLater && !isLast {
			continue
		}
		for _, field := range changing {
			value := reflect.ValueOf(&k.Kustomization).Elem().FieldByName(field)
			if isLater {
				cut(value, 0)
			} else if isLater = field == last.field; isLater {
				cut(value, last.index+1)
			}
		}
		if k.IsEmpty() { // kustomize refuses it
			k.GeneratorOptions = &types.GeneratorOptions{}
		}
		content, err := yaml.Marshal(k.Kustomization)
		if err != nil {
			return nil, err
		}
		s.Kustomizations[folder], files[k.File] = &k, content
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
		if k := p.Sources.Kustomizations[folder]; p.mayChange(k, p.Candidate(path, i), k.File) {
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
		if p.mayChange(p.Sources.Kustomizations[folder], p.Candidate(path, i), file) {
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
	if slices.ContainsFunc(p.Generators[k.Folder], func(g Generator) bool {
		return g.matches(c) && slices.ContainsFunc(g.Files(), isLoaded)
	}) {
		return true
	}
	isOther := map[string]bool{}
	for _, g := range p.Generators[k.Folder] {
		isOther[g.Entry()] = !g.changes(c)
	}
	for _, patch := range p.Patches[k.Folder] {
		isOther[patch.Entry()] = !patch.Selects(c)
	}
	return slices.ContainsFunc(p.Entries(k.Folder), func(e Entry) bool {
		return !isOther[e.Name] && (k.File == file || isLoaded(e.Loads))
	})
}
