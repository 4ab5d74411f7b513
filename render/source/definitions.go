package source

import (
	"path"
	"slices"

	"example.com/gatehouse/render/manifest"
)

// readFolders reads the manifests in folders, except the loaded ones: the files there, not the folders.
// It skips folders that do not exist or have a kustomization.
func readFolders(memoOf memos, fileSystem *FileSystem, folders, loaded []string) ([]*Manifest, []manifest.Problem) {
	var files []string
	for _, folder := range folders {
		resolved, isDir, err := fileSystem.Resolve(folder)
		if err != nil || !isDir || fileSystem.KustomizationFile(folder) != "" {
			continue
		}
		names, _ := fileSystem.List(resolved) // without names there is no definition
		for _, name := range names {
			file := path.Join(resolved, name)
			if (IsYAML(name) || path.Ext(name) == ".json") && !fileSystem.IsDir(file) &&
				!slices.Contains(loaded, file) {
				files = append(files, file)
			}
		}
	}
	return readManifests(memoOf, fileSystem, files)
}

// IsYAML reports whether a file has YAML by its name.
func IsYAML(name string) bool {
	extension := path.Ext(name)
	return extension == ".yaml" || extension == ".yml"
}
