package render

import (
	"path/filepath"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// The environments of this repository are rendered, and kustomize builds what was
// rendered to as many objects.
func TestRepository(t *testing.T) {
	const root = ".."
	report, err := Run(t.Context(), Options{Root: root, All: true, Check: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range report.Environments {
		if e.Diff != "" || len(e.Errors) > 0 {
			t.Errorf("%s is not what rendering writes: make render\n%v%s", e.Name, e.Errors, e.Diff)
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
