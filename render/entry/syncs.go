package entry

import (
	"bytes"
	"path"

	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// folderSync is a Kustomization of Flux, a FluxInstance, or a source of an Application of Argo CD.
type folderSync struct {
	folder, path string // from the root; "." for the root, or without a path
	file         string // of the folder
	kind         string // of the source of Flux
	isInstance   bool
	isDirectory  bool // of Argo CD, see directory
}

// findSyncs returns the syncs in all files.
func (r Repository) findSyncs() (all []folderSync) {
	source.EachYAML(r.Tree, tree.Folder, func(name string, content []byte) {
		if bytes.Contains(content, []byte("fluxcd")) || bytes.Contains(content, []byte("argoproj")) {
			for _, s := range syncsIn(path.Dir(name), content) {
				s.file = name
				all = append(all, s)
			}
		}
	})
	return all
}

// argoSource is a source of an Application.
type argoSource struct {
	Path      string
	Directory *struct{}
}

// syncsIn returns the syncs in a file of a folder.
func syncsIn(folder string, content []byte) (all []folderSync) {
	for _, document := range source.Documents(content) {
		var o struct {
			APIVersion, Kind string
			Spec             struct {
				Path      string
				SourceRef struct{ Kind string }
				Sync      struct{ Path string }
				Values    struct {
					Instance struct{ Sync struct{ Path string } }
				}
				Source  argoSource
				Sources []argoSource
			}
		}
		if yaml.Unmarshal(document, &o) != nil {
			continue
		}
		add := func(s folderSync, within string) {
			s.folder = folder
			s.path = path.Join(".", within)
			all = append(all, s)
		}
		switch manifest.Group(o.APIVersion) + "/" + o.Kind {
		case "kustomize.toolkit.fluxcd.io/Kustomization":
			add(folderSync{kind: o.Spec.SourceRef.Kind}, o.Spec.Path)
		case "fluxcd.controlplane.io/FluxInstance":
			add(folderSync{isInstance: true}, o.Spec.Sync.Path)
		case "helm.toolkit.fluxcd.io/HelmRelease": // the chart flux-instance
			if name := o.Spec.Values.Instance.Sync.Path; name != "" {
				add(folderSync{isInstance: true}, name)
			}
		case "argoproj.io/Application":
			for _, from := range append(o.Spec.Sources, o.Spec.Source) {
				add(folderSync{isDirectory: from.Directory != nil}, from.Path)
			}
		}
	}
	return all
}
