package kustomize

import (
	"cmp"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// buildPart builds a part: of objects beside its specs the rest has the right ones.
func (d *division) buildPart(p *part) ([]manifest.Object, error) {
	fs, root, err := d.prune(p)
	if err != nil || root == nil {
		return nil, err
	}
	return buildFolder(fs, root.Folder, p.keep(d.sources.Kinds))
}

// keep returns which of the objects that a part builds are its own; nil for all.
func (p *part) keep(written source.Kinds) func(*resource.Resource) bool {
	if p.isRest {
		return nil
	}
	return func(r *resource.Resource) bool {
		gvk := r.GetGvk()
		return slices.Contains(written.GVKs, schema.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind})
	}
}

// prune returns what a part is built from: the kustomization to build, nil where
// nothing is left to load, and the file system that has it.
func (d *division) prune(p *part) (*source.FileSystem, *source.Kustomization, error) {
	pruned, err := d.pruned(p)
	if err != nil || pruned.left[d.folder] == nil {
		return nil, nil, err
	}
	return d.sources.FS.With(pruned.files), pruned.left[d.folder], nil
}

// pruned returns what is left of the kustomizations of a build for a part.
func (d *division) pruned(p *part) (*pruning, error) {
	pruned := &pruning{division: d, part: p, needed: map[string]bool{}, files: map[string][]byte{}, left: map[string]*source.Kustomization{}}
	pruned.findNeeded()
	root, ok, err := pruned.folderLeft(d.folder)
	if ok {
		pruned.left[d.folder] = root
	}
	return pruned, err
}

// pruning takes from the kustomizations of a build what a part does without.
type pruning struct {
	*division
	part   *part
	needed map[string]bool   // folders
	files  map[string][]byte // what stands in for kustomizations and manifests
	left   map[string]*source.Kustomization
}

// findNeeded finds the folders that a part needs: those of its documents and of what
// it generates, and of the configurations, which concern all.
func (p *pruning) findNeeded() {
	for file := range p.part.texts {
		p.needAll(p.loaders[file])
	}
	for r := range p.part.referents {
		if r.folder != "" {
			p.needAll([]string{r.folder})
		}
	}
	p.needAll(p.configured)
}

// needAll marks folders, those that load them, and their components as needed.
func (p *pruning) needAll(folders []string) {
	for _, folder := range folders {
		if p.needed[folder] {
			continue
		}
		p.needed[folder] = true
		p.needAll(p.loaders[folder])
		k := p.reached[folder]
		for _, entry := range k.Components {
			p.needAll([]string{k.Paths[entry]})
		}
	}
}

// folderLeft prunes the kustomization of a folder and those that it loads. It says
// whether anything is left to load.
func (p *pruning) folderLeft(folder string) (*source.Kustomization, bool, error) {
	k := *p.reached[folder]
	var err error
	keep := func(entry string) bool {
		loaded, ok := k.Paths[entry], false
		switch {
		case err != nil:
			return false
		case p.reached[loaded] == nil:
			return p.keepFile(loaded)
		case p.part.isRest || p.needed[loaded]:
			var left *source.Kustomization
			if left, ok, err = p.folderLeft(loaded); ok {
				p.left[loaded] = left
			}
		}
		return ok
	}
	before := len(k.Resources) + len(k.Components)
	k.Resources, k.Components = filter(k.Resources, keep), filter(k.Components, keep)
	switch {
	case err != nil:
		return nil, false, err
	case !p.part.isRest:
		p.pruneOthers(&k)
	case before == len(k.Resources)+len(k.Components):
		return &k, true, nil // as it is written
	case isIdle(&k):
		return nil, false, nil
	}
	if k.IsEmpty() {
		return nil, false, nil
	}
	p.files[k.File], err = yaml.Marshal(k.Kustomization)
	return &k, true, err
}

// keepFile reduces a file to the texts of the part, and reports whether any are left.
func (p *pruning) keepFile(file string) bool {
	texts := p.part.texts[file]
	if len(texts) != p.size[file] {
		p.files[file] = source.Join(texts)
	}
	return len(texts) > 0 || p.part.isRest && p.size[file] == 0
}

// isIdle reports whether a kustomization that is left of the rest does nothing: all that
// it might do is to change objects that it does not have. A component changes those of
// others.
func isIdle(k *source.Kustomization) bool {
	if k.Kind == types.ComponentKind {
		return false
	}
	idle := types.Kustomization{
		TypeMeta: k.TypeMeta, MetaData: k.MetaData, Namespace: k.Namespace, NamePrefix: k.NamePrefix, NameSuffix: k.NameSuffix,
		Labels: k.Labels, CommonAnnotations: k.CommonAnnotations, Images: k.Images,
		BuildMetadata: k.BuildMetadata, SortOptions: k.SortOptions, GeneratorOptions: k.GeneratorOptions,
		Configurations: filter(k.Configurations, func(entry string) bool { return entry == source.ConfigurationFile }),
	}
	left, err := yaml.Marshal(k.Kustomization)
	if err != nil {
		return false
	}
	nothing, err := yaml.Marshal(idle)
	return err == nil && string(left) == string(nothing)
}

// pruneOthers takes from a kustomization what concerns objects that are not in the
// part.
func (p *pruning) pruneOthers(k *source.Kustomization) {
	k.Replicas, k.Replacements, k.Generators, k.Transformers, k.Validators = nil, nil, nil, nil, nil
	generated, names := map[string]bool{}, map[inNamespace]bool{}
	for r := range p.part.referents {
		if r.folder == k.Folder {
			generated[r.names[0]] = true
		}
		for _, name := range r.names {
			for _, namespace := range slices.Concat(r.namespaces, r.passed) {
				names[inNamespace{namespace, name}] = true
			}
		}
	}
	k.ConfigMapGenerator = filter(k.ConfigMapGenerator, func(g types.ConfigMapArgs) bool { return generated[g.Name] })
	k.SecretGenerator = filter(k.SecretGenerator, func(g types.SecretArgs) bool { return generated[g.Name] })

	patches := p.patches[k.Folder]
	keep := func(one patch) bool { return p.concerns(one, names) }
	k.PatchesStrategicMerge = nil
	for _, one := range filter(patches.strategicMerge, keep) {
		k.PatchesStrategicMerge = append(k.PatchesStrategicMerge, types.PatchStrategicMerge(one.Path+one.Patch.Patch))
	}
	k.Patches = written(filter(patches.targeted, keep))
	k.PatchesJson6902 = written(filter(patches.json6902, keep))
}

// concerns reports whether a patch may change an object of the part: a spec, or one of
// the names that the specs refer to.
func (p *pruning) concerns(one patch, names map[inNamespace]bool) bool {
	if one.kind != nil {
		return one.maySelect(p.specKinds) || len(names) > 0 && one.maySelect(p.referents.kinds)
	}
	return slices.ContainsFunc(one.documents, func(d source.Document) bool {
		return slices.Contains(p.referents.kinds, d.Kind) &&
			(names[inNamespace{cmp.Or(d.Namespace, defaultNamespace), d.Name}] || names[inNamespace{anyNamespace, d.Name}])
	})
}

func written(list []patch) (patches []types.Patch) {
	for _, p := range list {
		patches = append(patches, p.Patch)
	}
	return patches
}

// filter returns the items that are to be kept, nil where there are none.
func filter[T any](list []T, keep func(T) bool) (kept []T) {
	for _, item := range list {
		if keep(item) {
			kept = append(kept, item)
		}
	}
	return kept
}

// mute keeps kustomize from printing the same warnings for each part.
func mute() (unmute func()) {
	stderr := os.Stderr
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return func() {}
	}
	os.Stderr = null
	return func() {
		os.Stderr = stderr
		_ = null.Close()
	}
}
