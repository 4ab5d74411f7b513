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

// entriesOf returns the entries of one kustomization that select a candidate, in the order of
// https://github.com/kubernetes-sigs/kustomize/blob/api/v0.21.2/api/internal/target/kusttarget.go
func (w *Ways) entriesOf(k *source.Kustomization, c candidate) (entries []Entry) {
	add := func(selects bool, path string, files ...string) {
		if selects {
			entries = append(entries, Entry{k.Folder, path, resolved(k, files)})
		}
	}
	addPatches := func(fields ...string) {
		for _, p := range w.patches[k.Folder] {
			add(slices.Contains(fields, p.field) && p.selects(c), p.path(), p.Path)
		}
	}
	for _, g := range w.generators[k.Folder] {
		add(g.changes(c), g.path, g.files()...)
	}
	addPatches("patchesStrategicMerge", "patches")
	add(k.Namespace != "" && c.isNamespaced, "namespace")
	if hasAffixes(c.gvk.Kind) {
		add(k.NamePrefix != "", "namePrefix")
		add(k.NameSuffix != "", "nameSuffix")
	}
	for i := range k.Labels {
		add(true, fmt.Sprintf("labels[%d]", i))
	}
	add(len(k.CommonLabels) > 0, "commonLabels")
	add(len(k.CommonAnnotations) > 0, "commonAnnotations")
	addPatches("patchesJson6902")
	for i, r := range k.Replicas {
		isNamed := c.has(func(id identity) bool { return id.name == r.Name })
		add(isNamed && slices.Contains(scaledKinds(w.sources.Kinds), c.gvk.Kind), fmt.Sprintf("replicas[%d]", i))
	}
	for i, image := range k.Images {
		add(c.hasImage(image), fmt.Sprintf("images[%d]", i))
	}
	for i, r := range k.Replacements {
		add(w.mayReplace(r, c), fmt.Sprintf("replacements[%d]", i), r.Path)
	}
	for i, t := range k.Transformers {
		add(true, fmt.Sprintf("transformers[%d]", i), t)
	}
	return entries
}

// mayReplace reports whether a replacement may have a candidate as a target. One in a file may.
func (w *Ways) mayReplace(r types.ReplacementField, c candidate) bool {
	return r.Path != "" || slices.ContainsFunc(r.Targets, func(target *types.TargetSelector) bool {
		return target != nil && w.targets[target.Select] != nil && w.targets[target.Select].selects(c)
	})
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

// resolved returns the files that entries of a kustomization name, without what is no path.
func resolved(k *source.Kustomization, entries []string) (files []string) {
	for _, entry := range entries {
		if file := k.Paths[entry]; file != "" {
			files = append(files, file)
		}
	}
	return files
}
