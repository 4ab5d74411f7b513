package render

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
)

// FuzzRender renders an environment of any kustomization and any manifest.
func FuzzRender(f *testing.F) {
	files, err := filepath.Glob("testdata/problems/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(archive.Files[0].Data), string(archive.Files[1].Data))
	}
	f.Fuzz(func(t *testing.T, kustomization, manifest string) {
		root := t.TempDir()
		write(t, string(txtar.Format(&txtar.Archive{Files: []txtar.File{
			{Name: "environments/prod/kustomization.yaml", Data: []byte(kustomization)},
			{Name: "environments/prod/a.yaml", Data: []byte(manifest)},
		}})), root)
		before := snapshot(t, root)
		u, err := update(t.Context(), root, Selection{Names: []string{"prod"}})
		if err == nil && u.Failed() && snapshot(t, root) != before {
			t.Error("a run with problems changed files")
		}
	})
}
