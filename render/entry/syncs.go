package entry

import (
	"bytes"
	"path"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/api/types"
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
		switch manifest.Group(o.APIVersion) + "/" + o.Kind {
		case "kustomize.toolkit.fluxcd.io/Kustomization":
			s := folderSync{folder: folder, path: path.Join(".", o.Spec.Path), kind: o.Spec.SourceRef.Kind}
			all = append(all, s)
		case "fluxcd.controlplane.io/FluxInstance":
			all = append(all, folderSync{folder: folder, path: path.Join(".", o.Spec.Sync.Path), isInstance: true})
		case "helm.toolkit.fluxcd.io/HelmRelease": // the chart flux-instance
			if name := o.Spec.Values.Instance.Sync.Path; name != "" {
				all = append(all, folderSync{folder: folder, path: path.Join(".", name), isInstance: true})
			}
		case "argoproj.io/Application":
			for _, from := range append(o.Spec.Sources, o.Spec.Source) {
				all = append(all, folderSync{folder: folder, path: path.Join(".", from.Path),
					isDirectory: from.Directory != nil})
			}
		}
	}
	return all
}

// addDelivered adds a folder, and those that its kustomization lists.
func addDelivered(files *source.FileSystem, delivered map[string]bool, folder string) {
	if !delivered[folder] && filepath.IsLocal(folder) {
		delivered[folder] = true
		addListed(files, delivered, folder)
	}
}

// addListed adds the folders that the kustomization of a folder lists.
func addListed(files *source.FileSystem, delivered map[string]bool, folder string) {
	content, err := files.ReadAny(files.KustomizationFile("/" + folder))
	if err != nil {
		return
	}
	var k types.Kustomization
	_ = yaml.Unmarshal(content, &k) // rendering reports the error
	for _, name := range slices.Concat(k.Resources, k.Components) {
		if name = path.Join(folder, name); filepath.IsLocal(name) && files.IsDir("/"+name) {
			addDelivered(files, delivered, name)
		}
	}
}
