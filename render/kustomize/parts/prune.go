package parts

import (
	"cmp"
	"encoding/json"
	"slices"

	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/text"
)

// pruning reduces the files of a build to the nodes of a part.
type pruning struct {
	*Division
	folders  map[string]bool
	texts    map[string][]*node // of manifests, by file
	entries  map[position]bool
	files    map[string][]byte // pruned kustomizations and manifests
	read     []string          // the files that kustomize reads
	standIns *standIns
}

// prune returns the file system of a part, with stand-ins, and the files that kustomize reads from it.
func (d *Division) prune(p *part, s *standIns) (fs *source.FileSystem, read []string, err error) {
	pruned := &pruning{Division: d, folders: p.folders(), texts: map[string][]*node{}, entries: map[position]bool{},
		files: map[string][]byte{}, standIns: s}
	for n := range p.nodes {
		if n.text == nil {
			pruned.entries[n.position] = true
			pruned.read = append(pruned.read, n.files...)
		} else {
			pruned.texts[n.file] = append(pruned.texts[n.file], n)
		}
	}
	for _, texts := range pruned.texts {
		slices.SortFunc(texts, func(a, b *node) int { return cmp.Compare(a.index, b.index) })
	}
	_, err = pruned.keepFolder(d.paths.Folder)
	slices.Sort(pruned.read)
	return d.paths.Sources.FS.With(pruned.files), slices.Compact(pruned.read), err
}

// keepFolder prunes the kustomization of a folder and all that it loads. It reports whether anything
// is left to load.
func (p *pruning) keepFolder(folder string) (isLeft bool, err error) {
	k := *p.paths.Loaded[folder]
	keep := func(entry string) (isKept bool) {
		loaded := k.Paths[entry]
		switch {
		case err != nil:
		case p.paths.Loaded[loaded] == nil:
			isKept = p.keepFile(loaded)
		case p.folders[loaded] || p.configured[loaded]:
			isKept, err = p.keepFolder(loaded)
		}
		return isKept
	}
	count := func() int {
		return len(k.Resources) + len(k.Components) + len(k.ConfigMapGenerator) + len(k.SecretGenerator) +
			len(k.PatchesStrategicMerge) + len(k.Patches) + len(k.PatchesJson6902) + len(k.Replicas) +
			len(k.Replacements)
	}
	before := count()
	k.Resources = filter(k.Resources, keep)
	k.Components = filter(k.Components, keep)
	k.ConfigMapGenerator = keepEntries(p, k.File, "configMapGenerator", k.ConfigMapGenerator)
	k.SecretGenerator = keepEntries(p, k.File, "secretGenerator", k.SecretGenerator)
	k.PatchesStrategicMerge = keepEntries(p, k.File, "patchesStrategicMerge", k.PatchesStrategicMerge)
	k.Patches = keepEntries(p, k.File, "patches", k.Patches)
	k.PatchesJson6902 = keepEntries(p, k.File, "patchesJson6902", k.PatchesJson6902)
	images := keepEntries(p, k.File, imagesField, k.Images)
	k.Replicas = keepEntries(p, k.File, "replicas", k.Replicas)
	k.Replacements = keepEntries(p, k.File, "replacements", k.Replacements)
	isPruned := before != count()
	if len(images) < len(k.Images) {
		images = append(images, noImage)
		isPruned = true
	}
	k.Images = images
	if err != nil || isPruned && k.IsEmpty() {
		return false, err
	}
	p.read = append(p.read, k.File)
	for _, entry := range k.Configurations {
		p.read = append(p.read, k.Paths[entry])
	}
	placed := p.standIns.placed
	k.Kustomization = p.standIns.replace(k.Kustomization)
	if isPruned || p.standIns.placed > placed {
		p.files[k.File], err = json.Marshal(k.Kustomization) // also YAML
	}
	return true, err
}

// keepEntries returns the entries of a field that are in the part.
func keepEntries[T any](p *pruning, file, field string, list []T) (kept []T) {
	for i, entry := range list {
		at := position{file, field, i}
		if p.entries[at] || field == imagesField && !p.images.isOne[at] {
			kept = append(kept, entry)
		}
	}
	return kept
}

// keepFile reduces a manifest to its texts in the part, and reports whether any are left.
func (p *pruning) keepFile(file string) bool {
	texts := p.texts[file]
	if len(texts) > 0 {
		p.read = append(p.read, file)
	}
	if len(texts) < p.nodes.texts[file] {
		kept := make([][]byte, len(texts))
		for i, n := range texts {
			kept[i] = n.text.Content
		}
		p.files[file] = text.Join(kept)
		return len(texts) > 0
	}
	return true
}

func filter[T any](list []T, keep func(T) bool) (kept []T) {
	for _, item := range list {
		if keep(item) {
			kept = append(kept, item)
		}
	}
	return kept
}
