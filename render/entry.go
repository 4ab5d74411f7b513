package render

import (
	"fmt"
	"path"

	"example.com/gatehouse/render/entry"
	"example.com/gatehouse/render/tree"
)

// Entries finds the entries of the repository: the folders that clusters get all their objects from. An entry is an
// environment, or any other folder, such as the path of the Kustomization that Flux syncs a cluster by. The name of
// such a folder has a slash. It is judged and compared, and its objects are written nowhere.
func (r *Repository) Entries() entry.Repository {
	return entry.Repository{Files: r.fileSystem(), Tree: r.files}
}

func (r *Repository) findEntries() []string { return r.Entries().All() }

// IsFolder reports whether the name of an environment is the path of a folder outside of environments/.
func IsFolder(name string) bool { return entry.IsFolder(name) }

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
		if name = entry.CleanName(name); IsFolder(name) && r.HasEnvironment(name) && r.checkFolder(name) == nil {
			return errNotRendered(name)
		}
	}
	return nil
}

// checkFolder returns an error unless a folder can be an entry.
func (r *Repository) checkFolder(name string) error {
	switch {
	case !entry.IsOutside(name):
		return r.invalidName(name)
	case !entry.CanBuild(r.fileSystem(), name):
		return fmt.Errorf("%s has neither a kustomization nor YAML files", name)
	}
	return nil
}
