package build

import (
	"fmt"
	"reflect"
	"slices"

	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/source"
)

// field is a field of a kustomization that changes objects.
type field struct {
	name string
	// count is how many entries it has, which kustomize takes one after the other, and cut
	// leaves the first of them. What is no list of changes is one entry.
	count func(*types.Kustomization) int
	cut   func(*types.Kustomization, int)
	at    func(*types.Kustomization, int) any
}

const (
	componentsField = "components"
)

// fields are in the order in which kustomize carries them out: see accumulateTarget in
// https://github.com/kubernetes-sigs/kustomize/blob/api/v0.21.2/api/internal/target/kusttarget.go
var fields = []field{
	list("configMapGenerator", func(k *types.Kustomization) *[]types.ConfigMapArgs { return &k.ConfigMapGenerator }),
	list("secretGenerator", func(k *types.Kustomization) *[]types.SecretArgs { return &k.SecretGenerator }),
	list("generators", func(k *types.Kustomization) *[]string { return &k.Generators }),
	list(componentsField, func(k *types.Kustomization) *[]string { return &k.Components }),
	list("patchesStrategicMerge", func(k *types.Kustomization) *[]types.PatchStrategicMerge { return &k.PatchesStrategicMerge }),
	list("patches", func(k *types.Kustomization) *[]types.Patch { return &k.Patches }),
	whole("namespace", func(k *types.Kustomization) *string { return &k.Namespace }, func(s string) bool { return s == "" }),
	whole("namePrefix", func(k *types.Kustomization) *string { return &k.NamePrefix }, func(s string) bool { return s == "" }),
	whole("nameSuffix", func(k *types.Kustomization) *string { return &k.NameSuffix }, func(s string) bool { return s == "" }),
	list("labels", func(k *types.Kustomization) *[]types.Label { return &k.Labels }),
	whole("commonLabels", func(k *types.Kustomization) *map[string]string { return &k.CommonLabels }, isEmptyMap),
	whole("commonAnnotations", func(k *types.Kustomization) *map[string]string { return &k.CommonAnnotations }, isEmptyMap),
	list("patchesJson6902", func(k *types.Kustomization) *[]types.Patch { return &k.PatchesJson6902 }),
	list("replicas", func(k *types.Kustomization) *[]types.Replica { return &k.Replicas }),
	list("images", func(k *types.Kustomization) *[]types.Image { return &k.Images }),
	list("replacements", func(k *types.Kustomization) *[]types.ReplacementField { return &k.Replacements }),
	list("transformers", func(k *types.Kustomization) *[]string { return &k.Transformers }),
	whole("vars", func(k *types.Kustomization) *[]types.Var { return &k.Vars }, func(vars []types.Var) bool { return len(vars) == 0 }),
	whole("buildMetadata", func(k *types.Kustomization) *[]string { return &k.BuildMetadata }, func(options []string) bool { return len(options) == 0 }),
}

func isEmptyMap(m map[string]string) bool { return len(m) == 0 }

func list[T any](name string, of func(*types.Kustomization) *[]T) field {
	return field{
		name:  name,
		count: func(k *types.Kustomization) int { return len(*of(k)) },
		cut:   func(k *types.Kustomization, n int) { entries := of(k); *entries = slices.Clone((*entries)[:n]) },
		at:    func(k *types.Kustomization, i int) any { return (*of(k))[i] },
	}
}

func whole[T any](name string, of func(*types.Kustomization) *T, isEmpty func(T) bool) field {
	return field{
		name: name,
		count: func(k *types.Kustomization) int {
			if isEmpty(*of(k)) {
				return 0
			}
			return 1
		},
		cut: func(k *types.Kustomization, n int) {
			var nothing T
			if n == 0 {
				*of(k) = nothing
			}
		},
		at: func(k *types.Kustomization, _ int) any { return *of(k) },
	}
}

// isList says whether the entries of the field are numbered.
func (f field) isList() bool {
	switch f.name {
	case "namespace", "namePrefix", "nameSuffix", "commonLabels", "commonAnnotations", "vars", "buildMetadata":
		return false
	}
	return true
}

// entry is one of a field of a kustomization.
type entry struct {
	folder string // of the kustomization
	field  int    // index of fields
	index  int
	// opens says that entries of the component that it names follow.
	opens bool
}

// name is the path of the entry: patches[0], or namespace.
func (e entry) name() string {
	if f := fields[e.field]; f.isList() {
		return fmt.Sprintf("%s[%d]", f.name, e.index)
	}
	return fields[e.field].name
}

// in returns the entry of what is left of a kustomization as one of the whole of it.
func (e entry) in(left, whole *source.Kustomization) entry {
	f := fields[e.field]
	i := 0
	for n := range f.count(&whole.Kustomization) {
		if i <= e.index && reflect.DeepEqual(f.at(&whole.Kustomization, n), f.at(&left.Kustomization, i)) {
			if i == e.index {
				e.index = n
				break
			}
			i++
		}
	}
	return e
}

// loadedBy are the files that an entry of a kustomization loads.
func loadedBy(k *source.Kustomization, e entry) (files []string) {
	var paths []string
	switch i := e.index; fields[e.field].name {
	case "configMapGenerator":
		paths = loadedByGenerator(k.ConfigMapGenerator[i].KvPairSources)
	case "secretGenerator":
		paths = loadedByGenerator(k.SecretGenerator[i].KvPairSources)
	case "patches":
		paths = []string{k.Patches[i].Path}
	case "patchesJson6902":
		paths = []string{k.PatchesJson6902[i].Path}
	case "patchesStrategicMerge":
		paths = []string{string(k.PatchesStrategicMerge[i])}
	case "replacements":
		paths = []string{k.Replacements[i].Path}
	case "transformers":
		paths = []string{k.Transformers[i]}
	case "generators":
		paths = []string{k.Generators[i]}
	}
	for _, name := range paths {
		if file := k.Paths[name]; file != "" {
			files = append(files, file)
		}
	}
	return files
}

func loadedByGenerator(sources types.KvPairSources) []string {
	return slices.Concat(sources.FileSources, sources.EnvSources, []string{sources.EnvSource})
}
