package tree

import (
	"os"
	"path"
	"slices"
	"testing"

	"example.com/gatehouse/render/manifest"
)

func put(t *testing.T, root *os.Root, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := root.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func mustBeOrphans(t *testing.T, problems []manifest.Problem, want ...string) {
	t.Helper()
	var got []string
	for _, p := range problems {
		if !p.Warning {
			t.Errorf("%s is an error", p)
		}
		got = append(got, p.File)
	}
	if !slices.Equal(got, want) {
		t.Errorf("orphans %q, want %q", got, want)
	}
}

func TestFilesThatNoToolAppliesAreNoOrphans(t *testing.T) {
	for base, want := range map[string]bool{
		"a.yaml": true, "a.yml": true, "a.json": true, "A.YAML": true, ".a.yaml": true, "kustomization.yml": true,
		"a": true, "a.txt": true, "a.yaml.gpg": true, "a.jsonnet": true, "README.yaml": true, "-.yaml": true,
		".gitkeep": false, ".gitattributes": false, ".gitignore": false, ".DS_Store": false, ".render-" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ": false,
		"README": false, "README.md": false, "notes.md": false, "OWNERS": false, "Thumbs.db": false,
		"a.yaml~": false, "a.yaml.orig": false, "a.yaml.rej": false, "a.yaml.bak": false, ".a.yaml.swp": false,
		"#a.yaml#": false, ".#a.yaml": false, "._a.yaml": false,
	} {
		if got := isOrphan(base); got != want {
			t.Errorf("%s: %t, want %t", base, got, want)
		}
	}
}

// Files of the present and the previous rendering are not orphans.
func TestOrphansInAnEnvironmentAreReportedAndKept(t *testing.T) {
	root := newRoot(t)
	run(t, root, before, -1)
	put(t, root, "rendered/prod/a/mine.yaml", "rendered/prod/mine.txt", "rendered/prod/z/z/mine.yaml", "rendered/prod/.idea/mine.json", "rendered/prod/a/.gitkeep")
	if err := root.Symlink("stays.yaml", "rendered/prod/a/link.yaml"); err != nil {
		t.Fatal(err)
	}
	all := []string{"rendered/prod/a/link.yaml", "rendered/prod/a/mine.yaml", "rendered/prod/mine.txt", "rendered/prod/z/z/mine.yaml"}
	for _, files := range [][]File{before, after, nil} {
		p, problems := ReadPrevious(root, "prod").Plan(files, besideOf(files), Index{})
		p.Close()
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		mustBeOrphans(t, p.Orphans(), all...)
	}
	run(t, root, nil, -1)
	mustBeOrphans(t, Orphans(root, nil), "rendered/prod")
	for _, name := range all {
		if _, err := root.Lstat(name); err != nil {
			t.Error(err)
		}
	}
}

func TestFoldersOfNoEnvironmentAreOrphansUnlessEmpty(t *testing.T) {
	root := newRoot(t)
	mustBeOrphans(t, Orphans(root, nil))
	run(t, root, before, -1)
	put(t, root, "rendered/old/a/a.yaml", "rendered/empty/.gitkeep", "rendered/a.json", "rendered/README.md", "rendered/.cache/a.yaml")
	mustBeOrphans(t, Orphans(root, []string{"prod"}), "rendered/a.json", "rendered/old")
}
