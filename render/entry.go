package render

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// An entry is the folder that a cluster gets all its objects from: an environment, or any other folder of the
// repository, such as the path of the Kustomization that Flux syncs a cluster by. The name of such a folder has a
// slash. It is judged and compared, and its objects are written nowhere.

// IsFolder reports whether the name of an environment is that of a folder outside of environments/.
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

// entries returns the folders that Flux syncs clusters by: each has the Kustomization of its own path, or a
// FluxInstance names it.
func (r *Repository) entries() []string {
	entries := map[string]bool{}
	files := r.fileSystem()
	var visit func(folder string)
	visit = func(folder string) {
		found, _ := r.files.ReadDir(folder) // an unreadable folder is no entry
		for _, entry := range found {
			name := path.Join(folder, entry.Name())
			switch {
			case entry.IsDir() && !strings.HasPrefix(entry.Name(), "."):
				visit(name)
			case entry.Type().IsRegular() && source.IsYAML(name):
				content, err := files.ReadAny("/" + name)
				if err == nil && bytes.Contains(content, []byte("fluxcd")) {
					addSyncs(entries, folder, content)
				}
			}
		}
	}
	visit(".")
	for entry := range entries {
		if r.checkFolder(entry) != nil {
			delete(entries, entry)
		}
	}
	return slices.Sorted(maps.Keys(entries))
}

// addSyncs adds the paths of the objects in a file that sync its folder, or one above it.
func addSyncs(entries map[string]bool, folder string, content []byte) {
	for _, document := range source.Documents(content) {
		var o struct {
			APIVersion, Kind string
			Spec             struct {
				Path string
				Sync struct{ Path string }
			}
		}
		if yaml.Unmarshal(document, &o) != nil {
			continue
		}
		name := path.Join(".", o.Spec.Path)
		switch manifest.Group(o.APIVersion) + "/" + o.Kind {
		case "kustomize.toolkit.fluxcd.io/Kustomization":
			if name == "." || folder != name && !isBelow(folder, name) {
				continue
			}
		case "fluxcd.controlplane.io/FluxInstance":
			if name = path.Join(".", o.Spec.Sync.Path); name == "." {
				continue
			}
		default:
			continue
		}
		entries[cleanName("./"+name)] = true
	}
}
