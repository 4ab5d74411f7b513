// Package entry finds the entries of a repository: the folders that clusters get all their objects from.
package entry

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// Repository is the files to find entries in.
type Repository struct {
	Files *source.FileSystem
	Tree  source.Revision
}

// IsFolder reports whether the name of an entry is the path of a folder, and none of environments/: it has a slash.
func IsFolder(name string) bool { return strings.Contains(name, "/") }

// CleanName returns the one name of a folder that people may write in several ways: clusters/prod or ./deploy.
func CleanName(name string) string {
	clean := path.Clean(name)
	switch {
	case IsFolder(clean):
		return clean
	case strings.HasPrefix(name, "./"):
		return "./" + clean
	}
	return name
}

// IsOutside reports whether a folder is in the repository, and neither in environments/ nor in rendered/.
func IsOutside(name string) bool {
	top, _, _ := strings.Cut(path.Clean(name), "/")
	return filepath.IsLocal(name) && top != tree.Folder && top != tree.EnvironmentsFolder
}

// CanBuild reports whether tools can build a folder: it has a kustomization or YAML files.
func CanBuild(files *source.FileSystem, name string) bool {
	at := path.Join("/", name)
	return files.KustomizationFile(at) != "" || len(files.Manifests(at)) > 0
}

// All returns the names of the entries: those of Synced or, without any, the overlays.
func (r Repository) All() []string {
	names := r.Synced()
	if len(names) == 0 {
		names = r.overlays()
	}
	slices.Sort(names)
	return names
}

// Synced returns the names of the folders that tools sync clusters by: the path of a Kustomization of Flux in the
// folder itself, the path that a FluxInstance names, and a folder of Kustomizations or Applications that no other one
// delivers.
func (r Repository) Synced() []string { return r.synced(false) }

// Clusters returns the folders in another one, or the folder itself, that have their own sync.
func (r Repository) Clusters(folder string) []string {
	return slices.DeleteFunc(r.synced(true), func(name string) bool {
		return path.Clean(folder) != "." && !source.IsWithin(path.Clean(name), path.Clean(folder))
	})
}

// SyncsOf returns the files with an object that syncs a folder, sorted, and whether one is an Application that reads it
// as a directory.
func (r Repository) SyncsOf(folder string) (files []string, isDirectory bool) {
	for _, s := range r.findSyncs() {
		if s.path == path.Clean(folder) {
			files = append(files, s.file)
			isDirectory = isDirectory || s.isDirectory
		}
	}
	return slices.Compact(files), isDirectory
}

// synced returns the folders that tools sync clusters by, see Synced: all, or folders with their own sync if isOwn. An
// app that is switched off is left out if there are others.
func (r Repository) synced(isOwn bool) []string {
	entries := map[string]bool{}
	delivered := map[string]bool{}
	folders := map[string]bool{}
	apps := map[string]bool{}
	files := r.Files
	syncs := r.findSyncs()
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
func (r Repository) topmost(entries, delivered map[string]bool) (names []string) {
	for entry := range entries {
		name := CleanName("./" + entry)
		isOfOther := isBelowAny(entry, delivered) || isBelowAny(path.Dir(entry), entries)
		if !isOfOther && IsOutside(name) && CanBuild(r.Files, name) {
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
func (r Repository) overlays() (names []string) {
	listed := map[string]bool{}
	overlays := []string{}
	addFolder := func(folder string) {
		var k types.Kustomization
		if r.Files.ReadKustomization("/"+folder, &k) != nil { // an invalid one may be of anything
			return
		}
		all := slices.Concat(k.Resources, k.Components, k.Bases) //nolint:staticcheck // people use bases
		for _, name := range all {
			listed[path.Join(folder, name)] = true
		}
		if k.Kind != types.ComponentKind && folder != "." {
			overlays = append(overlays, folder)
		}
	}
	addFolder(".")
	source.Walk(r.Tree, func(name string, entry fs.DirEntry) (enter bool) {
		if entry.IsDir() {
			addFolder(name)
		}
		return true
	})
	for _, folder := range overlays {
		if !listed[folder] {
			names = append(names, CleanName("./"+folder))
		}
	}
	return names
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
	var k types.Kustomization
	_ = files.ReadKustomization("/"+folder, &k) // rendering reports the error
	for _, name := range slices.Concat(k.Resources, k.Components) {
		if name = path.Join(folder, name); filepath.IsLocal(name) && files.IsDir("/"+name) {
			addDelivered(files, delivered, name)
		}
	}
}
