package source_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"example.com/gatehouse/test/sources"
)

// A build reads the files of the repository alone, also by links.
func TestLinksLeadNowhereElse(t *testing.T) {
	dir := t.TempDir()
	_, files := sources.Open(t, dir, txtar.Parse([]byte(`
-- base/web.yaml --
kind: Web
-- .git/config --
[core]
`)).Files)
	if err := os.Mkdir(filepath.Join(dir, "app"), 0o750); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"app/base": "../base", "app/web.yaml": "base/web.yaml", "app/circle": "circle", "app/gone": "../gone",
		"app/passwd": "/etc/passwd", "app/above": "../../..", "app/git": "../.git/config",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"/base/web.yaml": "/base/web.yaml", "/app/base": "/base", "/app/base/web.yaml": "/base/web.yaml",
		"/app/web.yaml": "/base/web.yaml", "/app/circle": "", "/app/gone": "", "/app/passwd": "", "/app/above": "",
		"/app/git": "", "/.git/config": "", "/../base": "/base",
	} {
		resolved, _, err := files.Resolve(name)
		if resolved != want && err == nil || (err == nil) != (want != "") {
			t.Errorf("%s is %q, %v, want %q", name, resolved, err, want)
		}
	}
}

// Looking for a file is not reading it.
func TestLooksTellWhatIsConsumed(t *testing.T) {
	_, files := sources.Open(t, t.TempDir(), txtar.Parse([]byte("-- a/read.yaml --\na\n-- a/seen.yaml --\nb\n")).Files)
	noting, noted := files.Noting()
	if _, err := noting.ReadFile("/a/read.yaml"); err != nil || !noting.Exists("/a/seen.yaml") || noting.Exists("/a/gone.yaml") {
		t.Fatal(err)
	}
	var looked []string
	for _, name := range []string{"a/gone.yaml", "a/other.yaml", "a/read.yaml", "a/seen.yaml"} {
		if noted.Has(name) {
			looked = append(looked, name)
		}
	}
	if got := strings.Join(looked, " "); got != "a/gone.yaml a/read.yaml a/seen.yaml" {
		t.Errorf("looks at %s", got)
	}
	if got := noted.Consumed(); !slices.Equal(got, []string{"a/read.yaml"}) {
		t.Errorf("consumes %q", got)
	}
}
