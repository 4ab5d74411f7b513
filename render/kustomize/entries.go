package kustomize

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// Entry is an entry of a kustomization that selects an object: it may change it.
type Entry struct {
	// Folder is that of the kustomization.
	Folder string
	// Path is the path of the entry, as patches[0] or namespace.
	Path string
	// Files are those that the entry loads, from the root.
	Files []string
}

// Entries returns the entries of kustomizations that select an object on its way, in the order
// in which kustomize applies them. Built is the object in the end, nil where a patch removes it.
func (w *Ways) Entries(way Way, built *unstructured.Unstructured) (entries []Entry) {
	for i, folder := range way.Folders {
		c := w.candidate(way, i)
		way.Document.Values(func(text string) { c.texts = append(c.texts, text) })
		c.addTexts(built)
		entries = append(entries, w.entriesOf(w.sources.Kustomizations[folder], c)...)
	}
	return entries
}

// GeneratorOf returns the entry of a kustomization that generates the object of a document;
// false where the document is the object itself.
func (w *Ways) GeneratorOf(d source.Document) (entry Entry, ok bool) {
	for folder, k := range w.sources.Kustomizations {
		if k.File != d.File || !isGenerated(d) {
			continue
		}
		_, line := d.Position()
		for field, generators := range generatorsByField(k) {
			for i, g := range generators {
				path := fmt.Sprintf("%s[%d]", field, i)
				if g.Name == d.Name && w.sources.Line(k.File, manifest.SplitField(path)...) == line {
					return Entry{folder, path, resolved(k, filesOf(g))}, true
				}
			}
		}
	}
	return Entry{}, false
}

// OverrideEntries returns the entries of the overrides in a folder that select a rendered
// object, in the order in which kustomize applies them.
func (w *Ways) OverrideEntries(folder string, rendered manifest.Object) (entries []Entry) {
	c := newCandidate(rendered)
	c.addTexts(rendered.Unstructured)
	k := w.sources.Kustomizations[folder]
	for _, component := range append(w.componentsIn(k, k.Components), folder) {
		entries = append(entries, w.entriesOf(w.sources.Kustomizations[component], c)...)
	}
	return entries
}

// addTexts adds the texts that an object holds.
func (c *candidate) addTexts(o *unstructured.Unstructured) {
	if o == nil {
		return
	}
	c.isNamespaced = c.isNamespaced || o.GetNamespace() != ""
	var add func(value any)
	add = func(value any) {
		switch value := value.(type) {
		case string:
			c.texts = append(c.texts, value)
		case map[string]any:
			for _, item := range value {
				add(item)
			}
		case []any:
			for _, item := range value {
				add(item)
			}
		}
	}
	add(o.Object)
}

// entriesOf returns the entries of one kustomization that select a candidate, in the order of
// https://github.com/kubernetes-sigs/kustomize/blob/api/v0.21.2/api/internal/target/kusttarget.go
func (w *Ways) entriesOf(k *source.Kustomization, c candidate) (entries []Entry) {
	add := func(selects bool, path string, files ...string) {
		if selects {
			entries = append(entries, Entry{k.Folder, path, resolved(k, files)})
		}
	}
	for _, field := range []string{"configMapGenerator", "secretGenerator"} {
		for i, g := range generatorsByField(k)[field] {
			add(c.gvk.Kind == generatedKinds[field] && extends(g, c), fmt.Sprintf("%s[%d]", field, i), filesOf(g)...)
		}
	}
	for i, p := range k.PatchesStrategicMerge {
		add(w.changes(k, strategicMerge(k, p), c), fmt.Sprintf("patchesStrategicMerge[%d]", i), string(p))
	}
	for i, p := range k.Patches {
		add(w.changes(k, p, c), fmt.Sprintf("patches[%d]", i), p.Path)
	}
	add(k.Namespace != "" && c.isNamespaced, "namespace")
	if isRenamed(c) {
		add(k.NamePrefix != "", "namePrefix")
		add(k.NameSuffix != "", "nameSuffix")
	}
	for i := range k.Labels {
		add(true, fmt.Sprintf("labels[%d]", i))
	}
	add(len(k.CommonLabels) > 0, "commonLabels")
	add(len(k.CommonAnnotations) > 0, "commonAnnotations")
	for i, p := range k.PatchesJson6902 {
		add(w.changes(k, p, c), fmt.Sprintf("patchesJson6902[%d]", i), p.Path)
	}
	for i, r := range k.Replicas {
		add(slices.Contains(c.names, r.Name) && slices.Contains(scaledKinds(w.sources.Kinds), c.gvk.Kind), fmt.Sprintf("replicas[%d]", i))
	}
	for i, image := range k.Images {
		add(c.hasImage(image), fmt.Sprintf("images[%d]", i))
	}
	for i, r := range k.Replacements {
		add(w.replaces(r, c), fmt.Sprintf("replacements[%d]", i), r.Path)
	}
	for i, t := range k.Transformers {
		add(true, fmt.Sprintf("transformers[%d]", i), t)
	}
	return entries
}

// isRenamed reports whether namePrefix and nameSuffix rename a candidate.
func isRenamed(c candidate) bool {
	return !slices.Contains([]string{"Namespace", "CustomResourceDefinition", "APIService"}, c.gvk.Kind)
}

// extends reports whether a generator merges into a candidate or replaces it.
func extends(g types.GeneratorArgs, c candidate) bool {
	return slices.Contains(c.names, g.Name) && !slices.Contains([]string{"", types.BehaviorCreate.String()}, g.Behavior)
}

// changes reports whether a patch may change a candidate, by its target or by its own kinds
// and names.
func (w *Ways) changes(k *source.Kustomization, p types.Patch, c candidate) bool {
	if p.Target != nil {
		return w.selects(p.Target, c)
	}
	key := types.Patch{Path: k.Paths[p.Path], Patch: p.Patch}
	read, ok := w.patches[key]
	if !ok {
		read, _ = readPatch(w.sources.FS, k, p) // kustomize has read it
		w.patches[key] = read
	}
	return slices.ContainsFunc(read.documents, func(d source.Document) bool {
		return d.Kind == c.gvk.Kind && d.Group == c.gvk.Group && slices.Contains(c.names, d.Name) &&
			(d.Namespace == "" || slices.Contains(c.namespaces, d.Namespace))
	})
}

// replaces reports whether a replacement may have a candidate as a target. One in a file may.
func (w *Ways) replaces(r types.ReplacementField, c candidate) bool {
	return r.Path != "" || slices.ContainsFunc(r.Targets, func(target *types.TargetSelector) bool {
		return target != nil && target.Select != nil && w.selects(target.Select, c)
	})
}

func (w *Ways) selects(target *types.Selector, c candidate) bool {
	s, ok := w.selectors[target]
	if !ok {
		s, _ = newSelector(target) // nil where it is malformed, and kustomize selects nothing
		w.selectors[target] = s
	}
	return s != nil && s.selects(c)
}

// hasImage reports whether a text of the candidate is an image by its name.
func (c *candidate) hasImage(image types.Image) bool {
	return slices.ContainsFunc(c.texts, func(text string) bool {
		for _, name := range []string{image.Name, image.NewName} {
			if rest, ok := strings.CutPrefix(text, name); ok && name != "" && (rest == "" || rest[0] == ':' || rest[0] == '@') {
				return true
			}
		}
		return false
	})
}

// scaledKinds returns the kinds that replicas: of a kustomization changes.
func scaledKinds(written source.Kinds) []string {
	var specs fieldSpecs
	_ = yaml.Unmarshal(written.Configuration, &specs) // it comes with the program
	kinds := append(make([]string, 0, 4+len(specs.Replicas)), "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
	for _, spec := range specs.Replicas {
		kinds = append(kinds, spec.Kind)
	}
	return kinds
}

// generatedKinds has the kinds that the fields of a kustomization generate.
var generatedKinds = map[string]string{"configMapGenerator": "ConfigMap", "secretGenerator": "Secret"}

func generatorsByField(k *source.Kustomization) map[string][]types.GeneratorArgs {
	all, configMaps := generators(k), len(k.ConfigMapGenerator)
	return map[string][]types.GeneratorArgs{"configMapGenerator": all[:configMaps], "secretGenerator": all[configMaps:]}
}

// filesOf returns what a generator loads.
func filesOf(g types.GeneratorArgs) []string {
	return slices.Concat(g.FileSources, g.EnvSources, []string{g.EnvSource})
}

// resolved returns the files that entries of a kustomization name, without what is no path.
func resolved(k *source.Kustomization, entries []string) (files []string) {
	for _, entry := range entries {
		if file := k.Paths[entry]; file != "" {
			files = append(files, file)
		}
	}
	return files
}
