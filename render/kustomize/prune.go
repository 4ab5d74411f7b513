package kustomize

import (
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
	pruned := &pruning{division: d, part: p, isRest: p == d.rest, files: map[string][]byte{}}
	isLeft, err := pruned.keepFolder(d.folder)
	if err != nil || !isLeft {
		return nil, err
	}
	var keep func(r *resource.Resource) bool
	if !pruned.isRest {
		keep = func(r *resource.Resource) bool {
			gvk := r.GetGvk()
			return d.kinds.Find(schema.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind}) != nil
		}
	}
	return buildFolder(d.sources.FS.With(pruned.files), d.folder, keep)
}

// pruning takes from the kustomizations of a build what a part does without.
type pruning struct {
	*division
	*part
	isRest bool
	files  map[string][]byte // what stands in for kustomizations and manifests
}

// keepFolder prunes the kustomization of a folder and those that it loads. It reports
// whether anything is left to load.
func (p *pruning) keepFolder(folder string) (bool, error) {
	k := *p.loaded[folder]
	var err error
	keep := func(entry string) bool {
		loaded, isLeft := k.Paths[entry], false
		switch {
		case err != nil:
		case p.loaded[loaded] == nil:
			isLeft = p.keepFile(loaded)
		case p.isRest || p.folders[loaded] || p.configured[loaded]:
			isLeft, err = p.keepFolder(loaded)
		}
		return isLeft
	}
	before := len(k.Resources) + len(k.Components)
	k.Resources, k.Components = filter(k.Resources, keep), filter(k.Components, keep)
	switch {
	case err != nil:
		return false, err
	case !p.isRest:
		p.pruneOthers(&k)
	case before == len(k.Resources)+len(k.Components):
		return true, nil // as it is written
	case isIdle(k):
		return false, nil
	}
	if k.IsEmpty() {
		return false, nil
	}
	p.files[k.File], err = yaml.Marshal(k.Kustomization)
	return true, err
}

// keepFile reduces a file to the texts of the part, and reports whether any are left.
func (p *pruning) keepFile(file string) bool {
	texts := p.texts[file]
	if len(texts) != p.size[file] {
		p.files[file] = source.Join(texts)
	}
	return len(texts) > 0 || p.isRest && p.size[file] == 0
}

// isIdle reports whether a kustomization that is left of the rest does nothing: all that
// it might do is to change objects that it does not have. A component changes those of
// others.
func isIdle(k source.Kustomization) bool {
	k.MetaData, k.Namespace, k.NamePrefix, k.NameSuffix = nil, "", "", ""
	k.Labels, k.CommonLabels, k.CommonAnnotations, k.Images = nil, nil, nil, nil
	k.BuildMetadata, k.SortOptions, k.GeneratorOptions, k.Configurations = nil, nil, nil, ownConfigurations(&k)
	return k.Kind != types.ComponentKind && k.IsEmpty()
}

// pruneOthers takes from a kustomization what concerns objects that are not in the
// part.
func (p *pruning) pruneOthers(k *source.Kustomization) {
	var candidates []candidate // what the specs refer to
	generated := map[manifest.ID]bool{}
	for r := range p.referents {
		for _, way := range r.ways {
			if i := slices.Index(way.Folders, k.Folder); i >= 0 {
				candidates = append(candidates, p.candidate(*way, i))
			}
			if way.IsGenerated && way.Document.File == k.File {
				generated[way.Document.ID] = true
			}
		}
	}
	keep := func(kind string, args types.GeneratorArgs) bool {
		g := generator{kind: kind, GeneratorArgs: args}
		return g.creates() && generated[manifest.ID{Kind: kind, Namespace: g.Namespace, Name: g.Name}] || slices.ContainsFunc(candidates, g.changes)
	}
	k.ConfigMapGenerator = filter(k.ConfigMapGenerator, func(g types.ConfigMapArgs) bool { return keep("ConfigMap", g.GeneratorArgs) })
	k.SecretGenerator = filter(k.SecretGenerator, func(g types.SecretArgs) bool { return keep("Secret", g.GeneratorArgs) })

	k.Replicas, k.Replacements, k.PatchesStrategicMerge, k.Patches, k.PatchesJson6902 = nil, nil, nil, nil, nil
	for _, one := range p.patches[k.Folder] {
		switch {
		case one.target == nil && !slices.ContainsFunc(candidates, one.selects),
			one.target != nil && !one.selectsKind(slices.Concat(p.specKinds, p.references.kinds)):
		case one.field == "patchesStrategicMerge":
			k.PatchesStrategicMerge = append(k.PatchesStrategicMerge, types.PatchStrategicMerge(one.Path+one.Patch.Patch))
		case one.field == "patches":
			k.Patches = append(k.Patches, one.Patch)
		default:
			k.PatchesJson6902 = append(k.PatchesJson6902, one.Patch)
		}
	}
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
