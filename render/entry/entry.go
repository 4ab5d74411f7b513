// Package entry finds the entries of a repository: the sources of all objects of clusters. The objects that deliver
// make a graph. No other object leads to its roots.
package entry

import (
	"cmp"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/settings"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// Repository is the files to find entries in.
type Repository struct {
	Files    *source.FileSystem
	Tree     source.Revision
	Settings settings.Settings
	// Origin tells the sources of Applications that are not the tree.
	Origin application.Origin
}

// Entry is all that a cluster gets from a repository without its own environment.
type Entry struct {
	// Name is the path of the folder, with a slash unless it is the root, and perhaps a cluster: clusters/hub@spoke.
	Name string
	// Resources are the files that are applied by hand, within the folder. Without any, a tool reads the folder.
	Resources []string
	// WithFolder reports whether the kustomization of the folder is applied as well.
	WithFolder bool
	// IsChart reports whether the folder is a chart that nothing here installs. ValueFiles are above its own values.
	// They are assumed unless the settings name them.
	IsChart    bool
	ValueFiles []string
	IsAssumed  bool
	// MayBeSubstituted reports whether a tool may set variables in the objects: nothing leads to the folder, and the
	// repository has objects that deliver.
	MayBeSubstituted bool
	// Cluster is the other cluster that a tool applies objects to; nothing for the own cluster of the tool.
	Cluster string

	isDelivered bool // it has objects that deliver
}

const clusterMark = "@"

// LookedFor describes the possible entries.
const LookedFor = "no file has an object that delivers (an Application or ApplicationSet of Argo CD, or a " +
	"Kustomization, HelmRelease, FluxInstance or ResourceSet of Flux), and no folder a kustomization"

// IsFolder reports whether the name of an entry is the path of a folder, and none of environments/: it has a slash, or
// is the root, perhaps of another cluster.
func IsFolder(name string) bool {
	return strings.Contains(name, "/") || name == "." || strings.HasPrefix(name, "."+clusterMark)
}

// FolderOf returns the folder of an entry.
func FolderOf(name string) string {
	folder, _, _ := strings.Cut(name, clusterMark)
	return path.Clean(folder)
}

// HasCluster reports whether a tool applies an entry to another cluster.
func HasCluster(name string) bool { return IsFolder(name) && strings.Contains(name, clusterMark) }

// CleanName returns the one name of a folder that people may write in several ways: clusters/prod or ./deploy.
func CleanName(name string) string {
	clean := path.Clean(name)
	switch {
	case name == "":
		return "" // no name
	case IsFolder(clean):
		return clean
	case strings.HasPrefix(name, "./"), strings.HasSuffix(name, "/"), strings.Contains(name, clusterMark):
		return "./" + clean
	}
	return name
}

// IsOutside reports whether a folder is in the repository, and neither an environment nor in rendered/.
func (r Repository) IsOutside(name string) bool {
	top, _, _ := strings.Cut(FolderOf(name), "/")
	return filepath.IsLocal(name) && top != tree.Folder && EnvironmentOf(r.Files, FolderOf(name)) == ""
}

// EnvironmentOf returns the name of the environment in environments/ that a folder is in, or nothing. A folder there
// without a kustomization is of another layout.
func EnvironmentOf(files *source.FileSystem, folder string) string {
	parts := strings.Split(strings.Trim(folder, "/"), "/")
	if parts[0] != tree.EnvironmentsFolder || len(parts) == 1 ||
		files.KustomizationFile(path.Join("/", parts[0], parts[1])) == "" {
		return ""
	}
	return parts[1]
}

// CanBuild reports whether tools can build a folder: it has a kustomization or YAML files.
func CanBuild(files *source.FileSystem, name string) bool {
	at := path.Join("/", FolderOf(name))
	return files.KustomizationFile(at) != "" || len(files.Manifests(at)) > 0
}

// All returns the entries: the roots of the graph of deliveries, the kustomizations that nothing leads to, and the
// folders that the settings name. LeftOut are others, which the settings exclude, and undelivered the folders and
// files of objects that no entry has.
func (r Repository) All() (entries, leftOut []Entry, undelivered []string) {
	g := newGraph(r)
	isNone := func(folder string) bool { return r.Settings.WhyNone(folder) != "" }
	entries = slices.DeleteFunc(r.found(g.entries(isNone)), func(e Entry) bool { return r.WhyNone(e) != "" })
	undelivered = slices.DeleteFunc(g.undelivered(entries), isNone)
	if len(r.Settings.NotEntries) == 0 {
		return entries, nil, undelivered
	}
	for _, e := range r.found(g.entries(func(string) bool { return false })) {
		if !slices.ContainsFunc(entries, func(other Entry) bool { return other.Name == e.Name }) {
			leftOut = append(leftOut, e)
		}
	}
	return entries, leftOut, undelivered
}

// WhyNone returns the reason why the settings exclude an entry, by its name or its folder, or nothing.
func (r Repository) WhyNone(e Entry) string {
	return cmp.Or(r.Settings.WhyNone(e.Name), r.Settings.WhyNone(FolderOf(e.Name)))
}

// found returns entries, each once, and the folders that the settings name.
func (r Repository) found(all []Entry) []Entry {
	for _, name := range r.Settings.Named() {
		isEnvironment := !IsFolder(name) && r.Files.IsDir(path.Join("/", tree.EnvironmentsFolder, name))
		if name = CleanName("./" + name); !isEnvironment && !HasCluster(name) {
			all = append(all, Entry{Name: name, IsChart: r.isChart(name)})
		}
	}
	byName := map[string]*Entry{}
	for _, e := range all {
		isFound := r.IsOutside(e.Name) && (len(e.Resources) > 0 || e.IsChart || CanBuild(r.Files, e.Name))
		switch other := byName[e.Name]; {
		case other != nil:
			other.Resources = append(other.Resources, e.Resources...)
			other.WithFolder = other.WithFolder || e.WithFolder
			other.isDelivered = other.isDelivered || e.isDelivered
		case isFound:
			byName[e.Name] = &e
		}
	}
	found := make([]Entry, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		e := byName[name]
		slices.Sort(e.Resources)
		e.Resources = slices.Compact(e.Resources)
		if files := r.Settings.ValueFiles(name); e.IsChart && files != nil {
			e.ValueFiles = files
			e.IsAssumed = false
		}
		found = append(found, *e)
	}
	return found
}

// isChart reports whether an entry is a folder with a chart and no kustomization.
func (r Repository) isChart(name string) bool {
	at := path.Join("/", name)
	return r.Files.Exists(path.Join(at, chartFile)) && r.Files.KustomizationFile(at) == ""
}

// Clusters returns the folders in another one, or the folder itself, that Flux syncs clusters by, also those that an
// environment lists.
func (r Repository) Clusters(folder string) (names []string) {
	g := newGraph(r)
	roots, _ := g.roots()
	for _, root := range roots {
		name := CleanName("./" + root.synced)
		isWithin := path.Clean(folder) == "." || source.IsWithin(root.synced, path.Clean(folder))
		if root.synced != "" && isWithin && r.IsOutside(name) && CanBuild(r.Files, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// SyncsOf returns the files with an object that syncs a folder, sorted, and whether one is an Application that reads it
// as a directory.
func (r Repository) SyncsOf(folder string) (files []string, isDirectory bool) {
	for _, s := range newGraph(r).syncs {
		for _, p := range append(s.places, place{path: s.instance}) {
			if p.path == path.Clean(folder) {
				files = append(files, s.file)
				isDirectory = isDirectory || p.isDirectory
			}
		}
	}
	return slices.Compact(files), isDirectory
}

// IsByHand reports whether people apply files of the folder.
func (e Entry) IsByHand() bool { return len(e.Resources) > 0 }

// IsPlain reports whether the folder is a kustomization that no object here delivers, and that delivers nothing.
func (e Entry) IsPlain() bool { return e.WithFolder && !e.isDelivered && !e.IsByHand() }

// IsDelivered reports whether an entry has objects that deliver.
func (e Entry) IsDelivered() bool { return e.isDelivered }
