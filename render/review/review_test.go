package review_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/review"
	"example.com/gatehouse/render/verbs/diff"
)

var rewrite = flag.Bool("update", false, "rewrite testdata with the current comments")

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// gitHub is the limit of a comment on GitHub.
const gitHub = 65536

// TestComments compares comments with reviewed ones: NAME.txtar has files before and after the change, where
// an empty file is a removed one, and NAME.md has the comment.
func TestComments(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 12 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".txtar")
		t.Run(filepath.Base(name), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(name, "large") {
				archive.Files = append(archive.Files, caches("before", 3, 64), caches("after", 2, 128))
			}
			limit := gitHub
			if match := regexp.MustCompile(`(?m)^limit: (\d+)$`).FindSubmatch(archive.Comment); match != nil {
				limit, _ = strconv.Atoi(string(match[1])) // of digits
			}
			r := reviewOf(t, archive)
			comment := r.Markdown(limit, "render diff --base origin/main")
			if len(comment) > limit {
				t.Errorf("has %d bytes of %d", len(comment), limit)
			}
			assertContent(t, name+".md", comment)
			if strings.HasSuffix(name, "new-at") { // one is enough: diffs are long
				encoded, err := json.MarshalIndent(r, "", "  ")
				if err != nil {
					t.Fatal(err)
				}
				assertContent(t, name+".json", string(encoded)+"\n")
			}
		})
	}
}

// caches returns many Memcacheds with the given size and memory. Most keep a size of 3.
func caches(side string, size, memory int) txtar.File {
	var b strings.Builder
	for i := range 150 {
		n := 3
		if i%5 == 0 {
			n = size
		}
		fmt.Fprintf(&b, "---\napiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: cache-%d, namespace: shop}\nspec: {size: %d, memoryLimit: %dMi}\n", i, n, memory)
	}
	return txtar.File{Name: side + "/environments/prod/caches.yaml", Data: []byte(b.String())}
}

// reviewOf renders the files before the change, and reviews the rendering of the files after it.
func reviewOf(t *testing.T, archive *txtar.Archive) *review.Review {
	t.Helper()
	root := t.TempDir()
	write(t, root, archive, "before/")
	repository, err := render.Open(root, gatehouse.All(), render.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	update, err := render.NewUpdate(t.Context(), repository, render.Selection{All: true}, func(string, string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer update.Close()
	if update.Failed() {
		t.Fatal(update.Environments[0].Problems)
	}
	if err := errors.Join(update.Stage(t.Context()), update.Commit()); err != nil {
		t.Fatal(err)
	}
	write(t, root, archive, "after/")
	d, err := diff.Run(t.Context(), repository, render.Selection{All: true}, "", func(string, string) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range d.Environments {
		for _, p := range e.Problems {
			if p.IsError() {
				t.Fatal(e.Name, p)
			}
		}
	}
	return review.New(d, now)
}

func write(t *testing.T, root string, archive *txtar.Archive, side string) {
	t.Helper()
	for _, file := range archive.Files {
		name, ok := strings.CutPrefix(file.Name, side)
		if !ok {
			continue
		}
		path := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil && len(file.Data) == 0 {
			err = os.Remove(path)
		} else if err == nil {
			err = os.WriteFile(path, file.Data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func assertContent(t *testing.T, file, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test ./render/review -update rewrites it):\n%s", file, got)
	}
}
