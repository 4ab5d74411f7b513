package tree

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"testing"
)

// before and after are two successive renderings.
var (
	before = []File{{"a/stays.yaml", []byte("stays")}, {"b/changes.yaml", []byte("1")}, {"c/goes.yaml", []byte("1")}, {"d/goes.yaml", []byte("1")}}
	after  = []File{{"a/stays.yaml", []byte("stays")}, {"b/changes.yaml", []byte("2")}, {"d/comes.yaml", []byte("2")}, {"e/comes.yaml", []byte("2")}}
)

// TestKilledRunIsCompletedOrUndoneByTheNext kills a run before each of its changes. At any time, the
// index lists every file.
func TestKilledRunIsCompletedOrUndoneByTheNext(t *testing.T) {
	for name, files := range map[string][2][]File{
		"new":     {nil, after},
		"changed": {before, after},
		"order":   {before, {before[1], before[0], before[2], before[3]}},
		"gone":    {before, nil},
	} {
		for alive := range 12 {
			for _, next := range [][]File{files[0], files[1]} {
				root := newRoot(t)
				run(t, root, files[0], -1)
				run(t, root, files[1], alive)
				owned := readIndex(readFiles(t, root)["rendered/prod/kustomization.yaml"])
				for file := range readFiles(t, root) {
					inside := file[len("rendered/prod/"):]
					if besideHeaders[inside] != "" && readFiles(t, root)["rendered/prod/kustomization.yaml"] == nil {
						t.Errorf("%s, killed after %d changes: %s without an index", name, alive, file)
					}
					if inside != IndexFile && besideHeaders[inside] == "" && !temporary.MatchString(path.Base(file)) && !owned[inside] {
						t.Errorf("%s, killed after %d changes: the index does not list %s", name, alive, file)
					}
				}
				run(t, root, next, -1)
				clean := newRoot(t)
				run(t, clean, next, -1)
				want, got := readFiles(t, clean), readFiles(t, root)
				if len(want) != len(got) {
					t.Errorf("%s, killed after %d changes: %d files, want %d", name, alive, len(got), len(want))
				}
				for file, content := range want {
					if string(got[file]) != string(content) {
						t.Errorf("%s, killed after %d changes: %s is %q, want %q", name, alive, file, got[file], content)
					}
				}
			}
		}
	}
}

// pageOf returns a distinct page for each list of files.
func schemaOf(files []File) []byte { return fmt.Appendf([]byte(SchemaHeader), "%s", files) }

func besideOf(files []File) []File {
	return []File{{Path: FormerPage}, {SchemaFile, schemaOf(files)}}
}

func newRoot(t *testing.T) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// run writes files. It dies after alive changes, unless alive is negative.
func run(t *testing.T, root *os.Root, files []File, alive int) {
	t.Helper()
	p, problems := ReadPrevious(root, "prod").Plan(files, besideOf(files), Index{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if err := p.Stage(t.Context()); err != nil {
		t.Fatal(err)
	}
	if alive >= 0 {
		p.changes = p.changes[:min(alive, len(p.changes))]
	}
	if err := p.Commit(); err != nil {
		t.Fatal(err)
	}
	if alive < 0 {
		p.Close()
	}
}

func readFiles(t *testing.T, root *os.Root) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files[name], err = root.ReadFile(name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
