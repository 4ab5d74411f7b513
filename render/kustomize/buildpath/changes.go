package buildpath

import (
	"slices"

	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// Changing returns the kustomizations that may change the object of a path, in the order of their
// changes.
func (p *Paths) Changing(path Path) (found []*source.Kustomization) {
	for i, folder := range path.Folders {
		if k := p.Sources.Kustomizations[folder]; p.changes(k, p.Candidate(path, i)) {
			found = append(found, k)
		}
	}
	return found
}

// Overriding returns the kustomizations of the overrides in a folder that may change a rendered
// object, in the order of their changes.
func (p *Paths) Overriding(folder string, rendered manifest.Object) (found []*source.Kustomization) {
	c := NewCandidate(rendered)
	for _, k := range p.overrides(folder) {
		if p.changes(k, c) {
			found = append(found, k)
		}
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

// changes reports whether a kustomization has a patch or a generator for a candidate, or a field that
// applies to all objects.
func (p *Paths) changes(k *source.Kustomization, c Candidate) bool {
	rest := *k
	rest.MetaData, rest.Resources, rest.Components, rest.SortOptions = nil, nil, nil, nil
	rest.Patches, rest.PatchesStrategicMerge, rest.PatchesJson6902 = nil, nil, nil
	rest.ConfigMapGenerator, rest.SecretGenerator, rest.Generators, rest.GeneratorOptions = nil, nil, nil, nil
	rest.Crds, rest.OpenAPI, rest.Configurations, rest.Validators = nil, nil, nil, nil
	return !rest.IsEmpty() ||
		slices.ContainsFunc(p.Patches[k.Folder], func(patch Patch) bool { return patch.Selects(c) }) ||
		slices.ContainsFunc(p.Generators[k.Folder], func(g Generator) bool { return g.changes(c) })
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
	return k.File == file && p.changes(k, c) || slices.ContainsFunc(k.Transformers, isLoaded) ||
		slices.ContainsFunc(k.Replacements, func(r types.ReplacementField) bool { return isLoaded(r.Path) }) ||
		slices.ContainsFunc(p.Patches[k.Folder], func(patch Patch) bool { return isLoaded(patch.Path) && patch.Selects(c) }) ||
		slices.ContainsFunc(p.Generators[k.Folder], func(g Generator) bool { return g.matches(c) && slices.ContainsFunc(g.Files(), isLoaded) })
}
