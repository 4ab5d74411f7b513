// Package sources reads kustomizations from the files of archives, for tests.
package sources

import (
	"os"
	"path/filepath"

	"golang.org/x/tools/txtar"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/charts"
)

// T is a *testing.T or a *rapid.T.
type T interface {
	Helper()
	Cleanup(func())
	Fatal(args ...any)
}

// Open writes files to dir and returns them as a tree and as a file system.
func Open(t T, dir string, files []txtar.File) (source.Revision, *source.FileSystem) {
	t.Helper()
	for _, f := range files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	disk := source.Disk(root, dir)
	return disk, source.NewFileSystem(disk, dir, nil)
}

// Read writes files to dir and reads the kustomization of a folder there, with the configuration of the kinds. The path
// of the folder begins with a slash.
func Read(t T, dir string, files []txtar.File, folder string) *source.Sources {
	t.Helper()
	newest := func(*source.Kustomization, []manifest.Object) charts.Cluster {
		return charts.Cluster{Kubernetes: "1.37.0"}
	}
	_, disk := Open(t, dir, files)
	return source.Read(nil, nil, disk, gatehouse.All().KustomizeConfig(), newest, nil, folder)
}
