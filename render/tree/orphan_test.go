package tree

import (
	"cmp"
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

func TestOnlyFilesThatNoToolReadsAreNoOrphans(t *testing.T) {
	for name, want := range map[string]bool{
		"a.yaml": true, "a.yml": true, "shop/a.json": true, "A.YAML": true, ".a.yaml": true, "kustomization.yml": true, "shop/Kustomization": true,
		"a": true, "a.txt": true, "a.yaml.gpg": true, "a.jsonnet": true, "README.yaml": true, "-.yaml": true,
		".gitattributes": true, ".gitignore": true, "shop/.sourceignore": true, ".argocd-source.yaml": true, ".argocd-source-prod.yaml": true, ".argocd-allow-concurrency": true,
		".#a.yaml": true, "._a.yaml": true, ".a.md": true, ".git/a.yaml": true, "shop/.x/y/README.md": true, ".idea/.gitkeep": true, ".render-x": true,
		".gitkeep": false, ".DS_Store": false, ".render-" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ": false, "shop/.a.yaml.swp": false,
		"README": false, "shop/README.md": false, "notes.md": false, "LICENSE": false, "OWNERS": false, "Thumbs.db": false,
		"a.yaml~": false, "a.yaml.orig": false, "a.yaml.rej": false, "a.yaml.bak": false, "#a.yaml#": false,
	} {
		if got := IsOrphan(name, true); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
		if !IsOrphan(name, false) {
			t.Errorf("a link %s is no orphan", name)
		}
	}
}

// Files of the present and the previous rendering are not orphans.
func TestOrphansInAnEnvironmentAreReportedAndKept(t *testing.T) {
	root := newRoot(t)
	run(t, root, before, -1)
	put(t, root, "rendered/prod/a/mine.yaml", "rendered/prod/mine.txt", "rendered/prod/z/z/mine.yaml", "rendered/prod/.idea/mine.json", "rendered/prod/a/.gitkeep", "rendered/prod/a/.sourceignore", "rendered/prod/readme/README.md")
	err := cmp.Or(root.Symlink("stays.yaml", "rendered/prod/a/link.md"), root.Symlink("a", "rendered/prod/linked"), root.MkdirAll("rendered/prod/y/submodule", 0o755))
	if err != nil {
		t.Fatal(err)
	}
	all := []string{
		"rendered/prod/.idea", "rendered/prod/a/.sourceignore", "rendered/prod/a/link.md", "rendered/prod/a/mine.yaml", "rendered/prod/linked",
		"rendered/prod/mine.txt", "rendered/prod/y/submodule", "rendered/prod/z/z/mine.yaml",
	}
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

func TestFoldersOfNoEnvironmentAreOrphansUnlessHarmless(t *testing.T) {
	root := newRoot(t)
	mustBeOrphans(t, Orphans(root, nil))
	run(t, root, before, -1)
	put(t, root, "rendered/old/a/a.yaml", "rendered/empty/.gitkeep", "rendered/a.json", "rendered/README.md", "rendered/.cache/a.yaml")
	put(t, root, "rendered/.sourceignore", "rendered/readme/README.md")
	mustBeOrphans(t, Orphans(root, []string{"prod"}), "rendered/.cache", "rendered/.sourceignore", "rendered/a.json", "rendered/old")
}
