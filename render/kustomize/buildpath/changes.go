package buildpath

import (
	"slices"

	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// Place is a line of a file, relative to the root. Line is 0 for the whole file.
type Place struct {
	File string
	Line int
}

// Changing returns the patches that select the object of a path, and the kustomizations with other fields
// that may change it, in the order of their changes.
func (p *Paths) Changing(path Path) (found []Place) {
	for i, folder := range path.Folders {
		found = append(found, p.changes(p.Sources.Kustomizations[folder], p.Candidate(path, i))...)
	}
	return found
}

// Overriding is Changing for a rendered object and the overrides in a folder.
func (p *Paths) Overriding(folder string, rendered manifest.Object) (found []Place) {
	c := NewCandidate(rendered)
	for _, k := range p.overrides(folder) {
		found = append(found, p.changes(k, c)...)
	}
	return found
}

// overrides returns the kustomizations of the overrides in a folder.
func (p *Paths) overrides(folder string) (all []*source.Kustomization) {
	k := p.Sources.Kustomizations[folder]
	for _, component := range p.componentsIn(k, k.Components) {
		all = append(all, p.Sources.Kustomizations[component])
	}
	return append(all, k)
}

// changes returns the patches of a kustomization that select a candidate, and the kustomization itself if
// it has a generator for the candidate, or a field that applies to all objects.
func (p *Paths) changes(k *source.Kustomization, c Candidate) (found []Place) {
	for _, patch := range p.Patches[k.Folder] {
		if patch.Selects(c) {
			found = append(found, patch.place(k))
		}
	}
	rest := *k
	rest.MetaData, rest.Resources, rest.Components, rest.SortOptions = nil, nil, nil, nil
	rest.Patches, rest.PatchesStrategicMerge, rest.PatchesJson6902 = nil, nil, nil
	rest.ConfigMapGenerator, rest.SecretGenerator, rest.Generators, rest.GeneratorOptions = nil, nil, nil, nil
	rest.Crds, rest.OpenAPI, rest.Configurations, rest.Validators = nil, nil, nil, nil
	if !rest.IsEmpty() || slices.ContainsFunc(p.Generators[k.Folder], func(g Generator) bool { return g.changes(c) }) {
		found = append(found, Place{File: source.Relative(k.File)})
	}
	return found
}

// place returns the line of a patch, or else the kustomization.
func (p Patch) place(k *source.Kustomization) Place {
	if len(p.Documents) == 0 {
		return Place{File: source.Relative(k.File)}
	}
	file, line := p.Documents[0].Position()
	return Place{file, line}
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
	return slices.ContainsFunc(p.overrides(folder), func(k *source.Kustomization) bool { return p.mayChange(k, c, file) })
}

// mayChange reports whether a file may change a candidate: as the kustomization, or as a file that the
// kustomization loads for the candidate.
func (p *Paths) mayChange(k *source.Kustomization, c Candidate, file string) bool {
	isLoaded := func(entry string) bool { return entry != "" && k.Paths[entry] == file }
	return k.File == file && len(p.changes(k, c)) > 0 || slices.ContainsFunc(k.Transformers, isLoaded) ||
		slices.ContainsFunc(k.Replacements, func(r types.ReplacementField) bool { return isLoaded(r.Path) }) ||
		slices.ContainsFunc(p.Patches[k.Folder], func(patch Patch) bool { return isLoaded(patch.Path) && patch.Selects(c) }) ||
		slices.ContainsFunc(p.Generators[k.Folder], func(g Generator) bool { return g.matches(c) && slices.ContainsFunc(g.Files(), isLoaded) })
}
