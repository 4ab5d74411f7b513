package render

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
)

// The environments of this repository are rendered, and kustomize builds what was
// rendered to as many objects.
func TestRepository(t *testing.T) {
	const root = ".."
	u, err := plan(t.Context(), root, Selection{All: true})
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	for _, e := range u.Environments {
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

// A repository that cannot be locked, as on a file system without locks, may be read,
// and not written.
func TestRepositoryWithoutLocks(t *testing.T) {
	root := write(t, "-- environments/prod/kustomization.yaml --\n")
	repository, err := Open(root, gatehouse.All())
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	if err := os.RemoveAll(filepath.Join(root, "environments")); err != nil { // nor does this lock
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
