package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestOriginHasTheRemotesOnOtherHosts(t *testing.T) {
	dir := history(t)
	for _, remote := range [][2]string{
		{"fork", "git@git.example.com:fork/yard.git"}, {"origin", "https://git.example.com/acme/yard.git"},
		{"disk", "/srv/yard.git"}, {"file", "file:///srv/yard.git"},
	} {
		run(t, dir, "remote", "add", remote[0], remote[1])
	}
	want := []string{"https://git.example.com/acme/yard.git", "git@git.example.com:fork/yard.git"}
	if got, err := OriginOf(t.Context(), dir, ""); err != nil || !slices.Equal(got.URLs, want) {
		t.Errorf("%q, %v, want %q", got.URLs, err, want)
	}
	if got, err := OriginOf(t.Context(), t.TempDir(), ""); err != nil || len(got.URLs) > 0 || got.IsOther("v1") {
		t.Errorf("without git: %+v, %v", got, err)
	}
}

func TestAnotherRevisionIsNoneUnderReview(t *testing.T) {
	dir := history(t)
	run(t, dir, "branch", "stable")
	run(t, dir, "tag", "later")
	run(t, dir, "checkout", "-q", "-b", "change")
	run(t, dir, "branch", "-m", "main", "trunk")
	if o := originOf(t, dir, ""); o.IsOther("unknown") || !o.IsOther("trunk") {
		t.Error("without a default branch an unknown name may be it, and another branch is not")
	}
	run(t, dir, "branch", "-m", "trunk", "main")
	for _, test := range []struct {
		base, revision string
		want           bool
	}{
		{"", "change", false}, {"", "main", false}, {"", "stable", true}, {"", "later", true}, {"", "unknown", true},
		{"stable", "stable", false}, {"origin/stable", "stable", false}, {"main", "stable", true}, {"main", "unknown", true},
	} {
		if got := originOf(t, dir, test.base).IsOther(test.revision); got != test.want {
			t.Errorf("%s from %q: %t", test.revision, test.base, got)
		}
	}
}

// originOf returns the place of a folder.
func originOf(t *testing.T, dir, base string) *Origin {
	t.Helper()
	o, err := OriginOf(t.Context(), dir, base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return o
}

// What git cannot tell is no answer: no remote and no branch.
func TestAnErrorOfGitIsNoOrigin(t *testing.T) {
	for name, breakIt := range map[string]func(dir string) error{
		"settings that git cannot read": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ".git/config"), []byte("[remote"), 0o600)
		},
		"references that git cannot read": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ".git/packed-refs"), []byte("x\n"), 0o600)
		},
	} {
		dir := history(t)
		if err := breakIt(dir); err != nil {
			t.Fatal(err)
		}
		if o, err := OriginOf(t.Context(), dir, ""); err == nil {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestOriginHasRevisions(t *testing.T) {
	remote := history(t)
	write(t, remote, "file", "tagged")
	run(t, remote, "add", "file")
	run(t, remote, "commit", "-q", "-m", "tagged")
	run(t, remote, "tag", "-a", "-m", "v1", "v1")
	first := strings.TrimSpace(run(t, remote, "rev-parse", "HEAD"))
	run(t, remote, "branch", "v1") // Argo CD finds a branch before a tag
	write(t, remote, "file", "later")
	run(t, remote, "commit", "-q", "-a", "-m", "later")
	run(t, remote, "branch", "stable")
	dir := t.TempDir()
	run(t, dir, "clone", "-q", remote, ".")
	write(t, dir, "file", "here")
	run(t, dir, "commit", "-q", "-a", "-m", "here")
	run(t, dir, "branch", "own")
	o := originOf(t, dir, "")
	for revision, want := range map[string]string{
		"v1": "tagged", "refs/tags/v1": "tagged", first: "tagged", first[:8]: "tagged", "stable": "later",
		"refs/heads/stable": "later", "topic": "later", "own": "", "none": "", "--all": "", strings.Repeat("0", 40): "",
	} {
		files, _, err := o.At(t.Context(), revision)
		var content []byte
		if err == nil {
			content, err = files.ReadFile("file")
		}
		if string(content) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", revision, content, err, want)
		}
	}
}
