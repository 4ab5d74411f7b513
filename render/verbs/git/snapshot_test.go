package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A snapshot is the folder of the work tree as it was: a change of the work tree afterwards is none of the snapshot.
func TestSnapshotIsTheCommittedFolder(t *testing.T) {
	dir := t.TempDir()
	run(t, dir, "init", "--quiet", "--initial-branch=main")
	write(t, dir, "outside", "no")
	write(t, dir, "shop/a.yaml", "a")
	write(t, dir, "shop/sub/b.yaml", strings.Repeat("b", 100_000))
	write(t, dir, "shop/sub/deep/ü \n/c", "")
	if err := os.Symlink("sub/b.yaml", filepath.Join(dir, "shop", "link")); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "add", ".")
	run(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",shop/module")
	run(t, dir, "commit", "--quiet", "--message=x")
	write(t, dir, "shop/a.yaml", "changed")
	write(t, dir, "shop/new", "")
	r := open(t, filepath.Join(dir, "shop"))
	commit, err := r.MergeBase(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Snapshot(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	for folder, want := range map[string][]string{
		".": {"a.yaml", "link@", "module/", "sub/"}, "sub": {"b.yaml", "deep/"}, "sub/deep": {"ü \n/"}, "module": nil,
	} {
		entries, err := s.ReadDir(folder)
		var got []string
		for _, e := range entries {
			suffix := map[fs.FileMode]string{fs.ModeDir: "/", fs.ModeSymlink: "@"}[e.Type()]
			got = append(got, e.Name()+suffix)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q: %v", folder, got, want, err)
		}
	}
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for name, want := range map[string]string{
				"a.yaml": "a", "sub/b.yaml": strings.Repeat("b", 100_000), "sub/deep/ü \n/c": "",
			} {
				if content, err := s.ReadFile(name); err != nil || string(content) != want {
					t.Errorf("%s has %d bytes: %v", name, len(content), err)
				}
			}
		})
	}
	readers.Wait()
	if target, err := s.ReadLink("link"); err != nil || target != "sub/b.yaml" {
		t.Errorf("the link leads to %s: %v", target, err)
	}
	for name, read := range map[string]func(name string) error{
		"new":     func(name string) error { _, err := s.Lstat(name); return err },
		"outside": func(name string) error { _, err := s.ReadFile(name); return err },
		"link":    func(name string) error { _, err := s.ReadFile(name); return err },
		"sub":     func(name string) error { _, err := s.ReadFile(name); return err },
		"a.yaml":  func(name string) error { _, err := s.ReadDir(name); return err },
		"module":  func(name string) error { _, err := s.ReadLink(name); return err },
	} {
		if err := read(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
