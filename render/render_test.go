package render

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"golang.org/x/tools/txtar"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

// write writes the files of an archive below a new folder, or below dir.
func write(t *testing.T, archive string, dir ...string) string {
	t.Helper()
	root := append(dir, t.TempDir())[0]
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(root, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// plan renders environments below root and plans the update.
func plan(ctx context.Context, root string, selection Selection) (*Update, error) {
	repository, err := Open(root, gatehouse.All(), Options{})
	if err != nil {
		return nil, err
	}
	defer repository.Close()
	return NewUpdate(ctx, repository, selection, func(string, string) {})
}

// update renders environments below root and writes them unless they have errors.
func update(ctx context.Context, root string, selection Selection) (*Update, error) {
	repository, err := Open(root, gatehouse.All(), Options{})
	if err != nil {
		return nil, err
	}
	defer repository.Close()
	unlock, err := repository.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	own, err := repository.ownEnvironments()
	if err != nil {
		return nil, err
	}
	selection.Written = len(own) > 0
	u, err := NewUpdate(ctx, repository, selection, func(string, string) {})
	if err != nil {
		return nil, err
	}
	defer u.Close()
	if u.Failed() {
		return u, nil
	}
	if err := u.Stage(ctx); err != nil {
		return u, err
	}
	return u, u.Commit()
}

// run renders all environments below root.
func run(t *testing.T, root string) *Update {
	t.Helper()
	u, err := update(t.Context(), root, Selection{All: true})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// mustRun renders all environments and fails the test on errors.
func mustRun(t *testing.T, root string) *Update {
	t.Helper()
	u := run(t, root)
	for _, problem := range problemsOf(u) {
		t.Error(problem)
	}
	return u
}

// problemsOf returns the errors of all environments.
func problemsOf(u *Update) []string {
	return texts(u, func(p manifest.Problem) bool { return !p.Warning })
}

// texts returns the texts of some problems of all environments.
func texts(u *Update, some func(manifest.Problem) bool) (texts []string) {
	for _, e := range u.Environments {
		for _, p := range e.Problems {
			if some(p) {
				texts = append(texts, p.String())
			}
		}
	}
	return texts
}

// snapshot returns an archive of a folder, with the target of each link and the content of each file.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	archive := &txtar.Archive{}
	err := filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		inside, _ := filepath.Rel(dir, name)
		if target, err := os.Readlink(name); err == nil {
			archive.Files = append(archive.Files, txtar.File{Name: inside, Data: []byte("link to " + target + "\n")})
			return nil
		}
		content, err := os.ReadFile(name)
		archive.Files = append(archive.Files, txtar.File{Name: inside, Data: content})
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(txtar.Format(archive))
}

func equal(t *testing.T, what, want, got string) {
	t.Helper()
	want, got = strings.TrimSpace(want), strings.TrimSpace(got)
	if want != got {
		t.Errorf("%s:\n%s", what, udiff.Unified("want", "got", want+"\n", got+"\n"))
	}
}

// rewrite makes golden tests rewrite their files, for a person to review.
var rewrite = flag.Bool("update", false, "rewrite testdata with what rendering gives")

// golden runs a test for each archive that matches: an input and, below expected, its result.
func golden(t *testing.T, pattern, expected string, actual func(t *testing.T, root string) *txtar.Archive) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			input, want := &txtar.Archive{Comment: archive.Comment}, &txtar.Archive{}
			for _, f := range archive.Files {
				if strings.HasPrefix(f.Name, expected) {
					want.Files = append(want.Files, f)
				} else {
					input.Files = append(input.Files, f)
				}
			}
			got := actual(t, write(t, string(txtar.Format(input))))
			if *rewrite {
				input.Files = append(input.Files, got.Files...)
				if err := os.WriteFile(file, txtar.Format(input), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			equal(t, file, string(txtar.Format(want)), string(txtar.Format(got)))
		})
	}
}

func TestRenderingEqualsGoldenFiles(t *testing.T) {
	golden(t, "testdata/*.txtar", "rendered/", func(t *testing.T, root string) *txtar.Archive {
		for _, e := range mustRun(t, root).Environments {
			testBuilt(t, root, e.Name)
		}
		rendered := txtar.Parse([]byte(snapshot(t, root)))
		rendered.Files = slices.DeleteFunc(rendered.Files, func(f txtar.File) bool {
			return !strings.HasPrefix(f.Name, "rendered/") || filepath.Base(f.Name) == tree.SchemaFile // package page tests it
		})
		return rendered
	})
}

func TestProblemsNameFileAndRemedy(t *testing.T) {
	golden(t, "testdata/problems/*.txtar", "problems", func(t *testing.T, root string) *txtar.Archive {
		before := snapshot(t, root)
		problems := problemsOf(run(t, root))
		equal(t, "a run with problems changed files", before, snapshot(t, root))
		return &txtar.Archive{Files: []txtar.File{{Name: "problems", Data: []byte(strings.Join(problems, "\n") + "\n")}}}
	})
}
