package render

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// An entry is the folder that a cluster gets all its objects from: an environment, or any other folder of the
// repository, such as the path of the Kustomization that Flux syncs a cluster by. The name of such a folder has a
// slash. It is judged and compared, and its objects are written nowhere.

// IsFolder reports whether the name of an environment is the path of a folder outside of environments/.
func IsFolder(name string) bool { return strings.Contains(name, "/") }

// folderOf returns the folder of an environment, from the root.
func folderOf(name string) string {
	if IsFolder(name) {
		return path.Join("/", name)
	}
	return path.Join("/", tree.EnvironmentsFolder, name)
}

// errNotRendered is the error of a verb that needs rendered/NAME.
func errNotRendered(name string) error {
	return fmt.Errorf("%s is no environment of %s/, and is rendered nowhere: judge it with --check, compare it by "+
		"render diff --base, or move it in by render init --from", name, tree.EnvironmentsFolder)
}

// CheckRendered returns an error if one of the selected environments is a folder outside of environments/.
func (r *Repository) CheckRendered(selection Selection) error {
	names := selection.Names
	if selection.All {
		names, _ = r.Environments() // Select reports the error
	}
	for _, name := range names {
		if name = cleanName(name); IsFolder(name) && r.HasEnvironment(name) && r.checkFolder(name) == nil {
			return errNotRendered(name)
		}
	}
	return nil
}

// cleanName returns the one name of a folder that people may write in several ways: clusters/prod or ./deploy.
func cleanName(name string) string {
	clean := path.Clean(name)
	switch {
	case IsFolder(clean):
		return clean
	case strings.HasPrefix(name, "./"):
		return "./" + clean
	}
	return name
}

// checkFolder returns an error unless a folder can be an entry.
func (r *Repository) checkFolder(name string) error {
	folder, files := folderOf(name), r.fileSystem()
	top, _, _ := strings.Cut(path.Clean(name), "/")
	switch {
	case !filepath.IsLocal(name) || top == tree.Folder || top == tree.EnvironmentsFolder:
		return r.invalidName(name)
	case files.KustomizationFile(folder) == "" && len(files.Manifests(folder)) == 0:
		return fmt.Errorf("%s has neither a kustomization nor YAML files", name)
	}
	return nil
}

// entries returns the folders that tools sync clusters by: the path of a Kustomization of Flux in the folder itself,
// the path that a FluxInstance names, and a folder of Kustomizations or Applications that no other one delivers.
// Without any they are the overlays.
func (r *Repository) entries() []string {
	names := r.Synced()
	if len(names) == 0 {
		names = r.overlays()
	}
	slices.Sort(names)
	return names
}

// Synced returns the entries that tools sync clusters by.
func (r *Repository) Synced() []string {
	const isOwn = false
	return r.synced(isOwn)
}

// Clusters returns the folders in another one, or the folder itself, that have their own sync.
func (r *Repository) Clusters(folder string) []string {
	const isOwn = true
	return slices.DeleteFunc(r.synced(isOwn), func(name string) bool {
		return path.Clean(folder) != "." && !source.IsWithin(path.Clean(name), path.Clean(folder))
	})
}

// SyncsOf returns the files with an object that syncs a folder, sorted, and whether one is an Application that reads it
// as a directory.
func (r *Repository) SyncsOf(folder string) (files []string, isDirectory bool) {
	for _, s := range r.findSyncs(".") {
		if s.path == path.Clean(folder) {
			files, isDirectory = append(files, s.file), isDirectory || s.isDirectory
		}
	}
	return slices.Compact(files), isDirectory
}

// synced returns the folders that tools sync clusters by, see entries: those with their own sync, or all. An app that
// is switched off is none where there are others.
func (r *Repository) synced(isOwn bool) []string {
	entries, delivered, folders, apps := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	files := r.fileSystem()
	syncs := r.findSyncs(".")
	for i := range syncs {
		syncs[i].path = folder.Resolve(files, syncs[i].kind, syncs[i].folder, syncs[i].path)
	}
	for _, s := range syncs {
		isInside := source.IsWithin(s.folder, s.path)
		switch {
		case s.path != "." && (isInside || s.isInstance):
			entries[s.path] = true
			addListed(files, delivered, s.path)
			continue
		case s.folder == "." || s.isInstance || isOwn:
		case isApp(files, s, syncs):
			apps[s.folder] = true
		default:
			folders[s.folder] = true
		}
		if s.path != "." && !isInside {
			addDelivered(files, delivered, s.path)
		}
	}
	if len(entries)+len(folders) == 0 {
		folders = apps
	}
	for folder := range folders {
		if !isBelowAny(folder, delivered) && !isBelowAny(folder, entries) {
			entries[folder] = true
		}
	}
	return r.topmost(entries, delivered)
}

// isApp reports whether a Kustomization of Flux beside its app delivers no other sync: it is an app that a cluster
// lists, or that is switched off. One without its folder is of another repository, or switched off, too.
func isApp(files *source.FileSystem, s folderSync, all []folderSync) bool {
	isLeaf := !slices.ContainsFunc(all, func(other folderSync) bool { return source.IsWithin(other.folder, s.path) })
	return s.kind != "" && (isLeaf && source.IsWithin(s.path, s.folder) || !files.IsDir("/"+s.path))
}

// topmost returns the names of the entries that are neither delivered nor below another one.
func (r *Repository) topmost(entries, delivered map[string]bool) (names []string) {
	for entry := range entries {
		name := cleanName("./" + entry)
		isOfOther := isBelowAny(entry, delivered) || isBelowAny(path.Dir(entry), entries)
		if !isOfOther && r.checkFolder(name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// isBelowAny reports whether a folder is one of others, or below one.
func isBelowAny(folder string, others map[string]bool) bool {
	for at := folder; at != "."; at = path.Dir(at) {
		if others[at] {
			return true
		}
	}
	return false
}

// overlays returns the folders with a kustomization that no other kustomization lists.
func (r *Repository) overlays() (names []string) {
	files := r.fileSystem()
	listed, overlays := map[string]bool{}, []string{}
	var visit func(folder string)
	visit = func(folder string) {
		var k types.Kustomization
		if content, err := files.ReadAny(files.KustomizationFile("/" + folder)); err == nil &&
			yaml.Unmarshal(content, &k) == nil { // an invalid one may be of anything
			all := slices.Concat(k.Resources, k.Components, k.Bases) //nolint:staticcheck // people use bases
			for _, name := range all {
				listed[path.Join(folder, name)] = true
			}
			if k.Kind != types.ComponentKind && folder != "." {
				overlays = append(overlays, folder)
			}
		}
		entries, _ := r.files.ReadDir(folder) // an unreadable folder has no overlays
		for _, entry := range entries {
			if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
				visit(path.Join(folder, entry.Name()))
			}
		}
	}
	visit(".")
	for _, folder := range overlays {
		if !listed[folder] {
			names = append(names, cleanName("./"+folder))
		}
	}
	return names
}

// folderSync is a Kustomization of Flux, a FluxInstance, or a source of an Application of Argo CD.
type folderSync struct {
	folder, path string // from the root; "." for the root, or without a path
	file         string // of the folder
	kind         string // of the source of Flux
	isInstance   bool
	isDirectory  bool // of Argo CD, see directory
}

// findSyncs returns the syncs in the files below a folder.
func (r *Repository) findSyncs(folder string) (all []folderSync) {
	r.eachYAML(folder, func(name string, content []byte) {
		if bytes.Contains(content, []byte("fluxcd")) || bytes.Contains(content, []byte("argoproj")) {
			for _, s := range syncsIn(path.Dir(name), content) {
				s.file = name
				all = append(all, s)
			}
		}
	})
	return all
}

// eachYAML calls f with the YAML files below a folder, but those in rendered/. It skips what it cannot read.
func (r *Repository) eachYAML(folder string, f func(name string, content []byte)) {
	entries, _ := r.files.ReadDir(folder)
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		switch {
		case strings.HasPrefix(entry.Name(), "."), name == tree.Folder:
		case entry.IsDir():
			r.eachYAML(name, f)
		case entry.Type().IsRegular() && source.IsYAML(name):
			if content, err := r.files.ReadFile(name); err == nil {
				f(name, content)
			}
		}
	}
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
