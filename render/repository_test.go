package render

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// kustomize builds the rendered environments of this repository to the same number of objects.
func TestKustomizeBuildsRenderedRepository(t *testing.T) {
	const root = ".."
	u, err := plan(t.Context(), root, Selection{All: true})
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	for _, e := range u.Environments {
		if IsFolder(e.Name) {
			continue // it is rendered nowhere
		}
		if manifest.HasErrors(e.Problems) {
			t.Fatal(e.Problems)
		}
		if diff := e.Plan.Diff(); diff != "" {
			t.Errorf("%s is not what rendering writes: make render\n%s", e.Name, diff)
		}
		objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "rendered", e.Name))
		if err != nil {
			t.Fatal(err)
		}
		if objects.Size() != e.Objects {
			t.Errorf("kustomize builds %d objects of %s, render %d", objects.Size(), e.Name, e.Objects)
		}
	}
}

// Without locks, as on some file systems, a repository can be read and not written.
func TestRLockWorksWithoutLocks(t *testing.T) {
	root := write(t, "-- environments/prod/kustomization.yaml --\n")
	repository, err := Open(root, gatehouse.All(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	if err := os.RemoveAll(filepath.Join(root, "environments")); err != nil { // without it nothing locks
		t.Fatal(err)
	}
	if unlock, err := repository.RLock(t.Context()); err != nil {
		t.Error(err)
	} else {
		unlock()
	}
	if _, err := repository.Lock(t.Context()); err == nil {
		t.Error("locked what cannot be locked")
	}
}

// A reading that lists a folder looks at each file that comes to it, also at the root.
func TestListedFolderLooksAtNewFiles(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	files := func(look func(string)) *source.FileSystem {
		return source.NewFileSystem(source.Disk(root, dir), dir, look)
	}
	for folder, want := range map[string][3]bool{"": {}, "/": {true, true, false}, "/apps": {false, true, true}} {
		looks := &source.Looks{}
		reading := files(looks.Add)
		_, _ = reading.ReadFile("/other.yaml")
		if folder != "" {
			_, _ = reading.List(folder)
		}
		for i, file := range []string{"new.yaml", "apps/new.yaml", "apps/web/new.yaml"} {
			if i == 2 && folder == "/" {
				continue // the folder that comes to the root is the one of apps/new.yaml
			}
			if got := isLookedAt(looks, files(nil), file); got != want[i] {
				t.Errorf("%q: %s: %t", folder, file, got)
			}
		}
	}
}
