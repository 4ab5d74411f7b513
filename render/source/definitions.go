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
		if fileSystem.KustomizationFile(folder) == "" {
			files = append(files, fileSystem.manifestsIn(folder)...)
		}
	}
	files = slices.DeleteFunc(files, func(file string) bool { return slices.Contains(loaded, file) })
	return readManifests(memoOf, fileSystem, files)
}

// manifestsIn returns the paths of the YAML and JSON files in a folder, in order.
func (f *FileSystem) manifestsIn(folder string) (files []string) {
	resolved, isDir, err := f.Resolve(folder)
	if err != nil || !isDir {
		return nil
	}
	names, _ := f.List(resolved) // without names there is no definition
	for _, name := range names {
		file := path.Join(resolved, name)
		if (IsYAML(name) || path.Ext(name) == ".json") && !f.IsDir(file) {
			files = append(files, file)
		}
	}
	return files
}

// IsYAML reports whether a file has YAML by its name.
func IsYAML(name string) bool {
	extension := path.Ext(name)
	return extension == ".yaml" || extension == ".yml"
}
