package source

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// An artifact lacks Flux's own list of files, unless .sourceignore or spec.ignore names others.
func TestArtifactLacksIgnoredFiles(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"a/b.yaml": "", "a/.sops.yaml": "", "a/logo.png": "",
		"own/.sourceignore": "*.yaml\n!kept.yaml\n# a comment\n", "own/kept.yaml": "", "own/b.yaml": "",
		"own/deep/.sourceignore": "/kept.yaml", "own/deep/kept.yaml": "", "own/deep/more/kept.yaml": ""} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	files := NewFileSystem(Disk(root, dir), dir, nil)
	for _, test := range []struct {
		folder, ignore string
		want           []string
	}{
		{"/a", "", []string{"./b.yaml"}},
		{"/a", "b.yaml", []string{"./.sops.yaml"}},
		{"/own", "", []string{"./deep/more/kept.yaml", "./kept.yaml"}},
		{"/own", "!/own/b.yaml", []string{"./b.yaml", "./deep/more/kept.yaml", "./kept.yaml"}},
	} {
		artifact := files.InArtifact(test.ignore)
		if got := artifact.Manifests(test.folder); !slices.Equal(got, test.want) {
			t.Errorf("%s without %q: %v, want %v", test.folder, test.ignore, got, test.want)
		}
		if artifact.Exists("/a/logo.png") == (test.ignore == "") {
			t.Errorf("%s without %q: a/logo.png", test.folder, test.ignore)
		}
	}
}
