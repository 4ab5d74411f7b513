package source_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"example.com/gatehouse/render/source"
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

// A replay sees what the readings saw, and tells it apart from any other content.
func TestReplayTellsContentApart(t *testing.T) {
	const before = "-- a/read.yaml --\na\n-- a/seen.yaml --\nb\n-- a/other.yaml --\nc\n"
	open := func(archive string) *source.FileSystem {
		_, files := sources.Open(t, t.TempDir(), txtar.Parse([]byte(archive)).Files)
		return files.With(map[string][]byte{"/a/made.yaml": []byte(strings.Repeat("d", strings.Count(archive, "made")))})
	}
	read := func(files *source.FileSystem) {
		for _, name := range []string{"/a/read.yaml", "/a/made.yaml"} {
			if _, err := files.ReadFile(name); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = files.Exists("/a/seen.yaml"), files.Exists("/a/gone.yaml")
	}
	noting, noted := open(before).Noting()
	read(noting)
	saw := noting.Replay(noted)
	for change, test := range map[string]struct {
		archive string
		isSame  bool
	}{
		"nothing":                          {before, true},
		"a file that is looked for":        {strings.Replace(before, "\nb\n", "\nx\n", 1), true},
		"a file that nothing looks for":    {strings.Replace(before, "\nc\n", "\nx\n", 1), true},
		"a file that is read":              {strings.Replace(before, "\na\n", "\nx\n", 1), false},
		"content in place of a file":       {before + "made", false},
		"a file that was not there":        {before + "-- a/gone.yaml --\n", false},
		"a file that is not there anymore": {strings.Replace(before, "seen", "was", 1), false},
	} {
		again, notedAgain := open(test.archive).Noting()
		if isSame := again.Replay(noted) == saw; isSame != test.isSame {
			t.Errorf("with a change of %s the same is seen: %t", change, isSame)
		}
		if got, want := notedAgain.Consumed(), noted.Consumed(); test.isSame && !slices.Equal(got, want) {
			t.Errorf("with a change of %s the replay consumes %q, want %q", change, got, want)
		}
	}
}
