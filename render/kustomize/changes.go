package kustomize

import (
	"slices"

	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// Changing returns the kustomizations on a way that have anything that may change its object, in the
// order in which they do.
func (w *Ways) Changing(way Way) (found []*source.Kustomization) {
	for i, folder := range way.Folders {
		if k := w.sources.Kustomizations[folder]; w.changes(k, w.candidate(way, i)) {
			found = append(found, k)
		}
	}
	return found
}

// Overriding returns the kustomizations of the overrides in a folder that have anything that may
// change a rendered object, in the order in which they do.
func (w *Ways) Overriding(folder string, expanded manifest.Object) (found []*source.Kustomization) {
	for _, k := range w.overrides(folder) {
		if w.changes(k, newCandidate(expanded)) {
			found = append(found, k)
		}
	}
	return found
}

// overrides returns the kustomizations of the overrides in a folder.
func (w *Ways) overrides(folder string) (all []*source.Kustomization) {
	k := w.sources.Kustomizations[folder]
	for _, component := range w.componentsIn(k, k.Components) {
		all = append(all, w.sources.Kustomizations[component])
	}
	return append(all, k)
}

// changes reports whether a kustomization may change a candidate: it has a patch or a generator for
// it, or a field that concerns all objects.
func (w *Ways) changes(k *source.Kustomization, c candidate) bool {
	rest := *k
	rest.MetaData, rest.Resources, rest.Components, rest.SortOptions = nil, nil, nil, nil
	rest.Patches, rest.PatchesStrategicMerge, rest.PatchesJson6902 = nil, nil, nil
	rest.ConfigMapGenerator, rest.SecretGenerator, rest.Generators, rest.GeneratorOptions = nil, nil, nil, nil
	rest.Crds, rest.OpenAPI, rest.Configurations, rest.Validators = nil, nil, nil, nil
	return !rest.IsEmpty() ||
		slices.ContainsFunc(w.patches[k.Folder], func(p patch) bool { return p.selects(c) }) ||
		slices.ContainsFunc(w.generators[k.Folder], func(g generator) bool { return g.changes(c) })
}

// Uses reports whether the object of a way is written in a file, or may be changed by it.
func (w *Ways) Uses(way Way, file string) bool {
	if way.Document.File == file {
		return true
	}
	for i, folder := range way.Folders {
		if w.mayChange(w.sources.Kustomizations[folder], w.candidate(way, i), file) {
			return true
		}
	}
	return false
}

// OverridesUse reports whether a file of the overrides in a folder may change a rendered object.
func (w *Ways) OverridesUse(folder string, expanded manifest.Object, file string) bool {
	c := newCandidate(expanded)
	return slices.ContainsFunc(w.overrides(folder), func(k *source.Kustomization) bool { return w.mayChange(k, c, file) })
}

// mayChange reports whether a file may change a candidate: it is the kustomization, or one that
// this loads, such as a patch that selects the candidate.
func (w *Ways) mayChange(k *source.Kustomization, c candidate, file string) bool {
	isLoaded := func(entry string) bool { return entry != "" && k.Paths[entry] == file }
	return k.File == file && w.changes(k, c) || slices.ContainsFunc(k.Transformers, isLoaded) ||
		slices.ContainsFunc(k.Replacements, func(r types.ReplacementField) bool { return isLoaded(r.Path) }) ||
		slices.ContainsFunc(w.patches[k.Folder], func(p patch) bool { return isLoaded(p.Path) && p.selects(c) }) ||
		slices.ContainsFunc(w.generators[k.Folder], func(g generator) bool { return g.isOf(c) && slices.ContainsFunc(g.files(), isLoaded) })
}
