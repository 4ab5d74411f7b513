package git

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// run runs git in a folder, with a name and an address.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// history returns a repository with branches main and topic, each with one commit after the tag base. HEAD
// is topic.
func history(t *testing.T, init ...string) string {
	t.Helper()
	dir := t.TempDir()
	run(t, dir, append([]string{"init", "--quiet", "--initial-branch=main"}, init...)...)
	for _, step := range []string{"base", "main", "topic"} {
		if step == "topic" {
			run(t, dir, "checkout", "--quiet", "-b", "topic", "base")
		}
		write(t, dir, "shop/rendered/prod/a.yaml", step)
		write(t, dir, "shop/rendered/prod/ü \n/b.yaml", "the same")
		run(t, dir, "add", ".")
		run(t, dir, "commit", "--quiet", "--message="+step)
		if step == "base" {
			run(t, dir, "tag", step)
		}
	}
	return dir
}

func open(t *testing.T, dir string) *Repository {
	t.Helper()
	r, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mustRead checks that a clone of history reads the folder shop of the merge base.
func mustRead(t *testing.T, dir string) {
	t.Helper()
	r := open(t, filepath.Join(dir, "shop"))
	base, err := r.MergeBase(t.Context(), "main")
	if err != nil || base != run(t, dir, "rev-parse", "base") || r.Prefix() != "shop" {
		t.Fatalf("base %s of prefix %s: %v", base, r.Prefix(), err)
	}
	files, err := r.Files(t.Context(), base, "rendered/prod")
	a, b := files["rendered/prod/a.yaml"], files["rendered/prod/ü \n/b.yaml"]
	if err != nil || len(files) != 2 || !a.IsRegular() || b.OID == "" {
		t.Fatalf("%v: %v", files, err)
	}
	contents, err := r.ReadFiles(t.Context(), map[string]File{"a": a, "b": b, "gone": {}})
	if err != nil || len(contents) != 2 || string(contents["b"]) != "the same" || string(contents["a"]) != "base" {
		t.Fatalf("%q: %v", contents, err)
	}
	if got := r.Hash(contents["a"]); got != a.OID {
		t.Errorf("%s, want %s", got, a.OID)
	}
	if files, err := r.Files(t.Context(), base, "rendered/staging"); err != nil || len(files) > 0 {
		t.Errorf("of no folder: %v: %v", files, err)
	}
}

func TestReadsEveryKindOfRepository(t *testing.T) {
	t.Run("SHA-1", func(t *testing.T) { mustRead(t, history(t)) })
	t.Run("SHA-256", func(t *testing.T) { mustRead(t, history(t, "--object-format=sha256")) })
	t.Run("linked worktree", func(t *testing.T) {
		linked := filepath.Join(t.TempDir(), "linked")
		run(t, history(t), "worktree", "add", "--quiet", "--detach", linked, "topic")
		mustRead(t, linked)
	})
	t.Run("submodule", func(t *testing.T) {
		outer := t.TempDir()
		run(t, outer, "init", "--quiet")
		run(t, outer, "submodule", "--quiet", "add", history(t), "inner")
		run(t, filepath.Join(outer, "inner"), "branch", "main", "origin/main")
		mustRead(t, filepath.Join(outer, "inner"))
	})
	t.Run("partial clone", func(t *testing.T) {
		from, to := history(t), t.TempDir()
		run(t, from, "config", "uploadpack.allowFilter", "true")
		run(t, from, "config", "uploadpack.allowAnySHA1InWant", "true")
		run(t, to, "clone", "--quiet", "--filter=blob:none", "file://"+from, ".")
		run(t, to, "branch", "main", "origin/main")
		mustRead(t, to)
	})
	t.Run("environment of a hook", func(t *testing.T) {
		t.Setenv("GIT_DIR", "/nowhere")
		t.Setenv("GIT_INDEX_FILE", "/nowhere/index")
		dir := t.TempDir()
		if _, err := Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "is not in a git repository") {
			t.Error(err)
		}
	})
}

func TestChangedSinceListsTheWholeWorkTree(t *testing.T) {
	t.Setenv("GIT_LITERAL_PATHSPECS", "1")
	dir := history(t)
	run(t, dir, "config", "diff.relative", "true")
	run(t, dir, "config", "diff.renames", "copies")
	write(t, dir, ".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = .\n\tignore = all\n")
	write(t, dir, ".gitignore", "ignored\n")
	run(t, dir, "add", ".")
	run(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+run(t, dir, "rev-parse", "base")+",sub")
	run(t, dir, "mv", "shop/rendered/prod/a.yaml", "moved.yaml")
	run(t, dir, "commit", "--quiet", "--message=change")
	write(t, dir, "shop/rendered/prod/ü \n/b.yaml", "another")
	write(t, dir, "shop/new\t.yaml", "")
	write(t, dir, "ignored", "")
	for _, err := range []error{os.Symlink("moved.yaml", filepath.Join(dir, "link")), os.Mkdir(filepath.Join(dir, "sub"), 0o755)} { // as a checkout
		if err != nil {
			t.Fatal(err)
		}
	}
	run(t, dir, "add", "link")
	changes, err := open(t, filepath.Join(dir, "shop")).ChangedSince(t.Context(), "base")
	got := map[string]string{}
	for _, c := range changes {
		modes := ""
		for _, file := range []*File{c.Before, c.After} {
			if file != nil {
				modes += file.Mode
			}
			modes += " "
		}
		got[c.Path] = strings.TrimSuffix(modes, " ")
	}
	want := map[string]string{
		".gitignore": " 100644", ".gitmodules": " 100644", "link": " 120000", "moved.yaml": " 100644", "sub": " 160000",
		"shop/new\t.yaml": " 100644", "shop/rendered/prod/a.yaml": "100644 ", "shop/rendered/prod/ü \n/b.yaml": "100644 100644",
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%q, want %q: %v", got, want, err)
	}
}

func TestOpenErrorsHaveHints(t *testing.T) {
	bare, none := t.TempDir(), t.TempDir()
	run(t, bare, "init", "--quiet", "--bare")
	for dir, want := range map[string]string{
		none: "is not in a git repository: run git init, or name another folder with --root",
		bare: "is not in a git work tree: run this in a clone that is not bare",
	} {
		if _, err := Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	other := history(t)
	t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
	if _, err := Open(t.Context(), other); err == nil || !strings.Contains(err.Error(), "git config --global --add safe.directory") {
		t.Error(err)
	}
	t.Setenv("PATH", none)
	if _, err := Open(t.Context(), none); err == nil || err.Error() != "git is not in PATH: install git" {
		t.Error(err)
	}
}

func TestUnknownRevisionsHaveAHint(t *testing.T) {
	from := history(t)
	clone, shallow, empty := t.TempDir(), t.TempDir(), t.TempDir()
	run(t, clone, "clone", "--quiet", "file://"+from, ".")
	run(t, shallow, "clone", "--quiet", "--depth=1", "--no-single-branch", "file://"+from, ".")
	run(t, empty, "init", "--quiet")
	for _, test := range []struct{ dir, revision, want string }{
		{clone, "main", `no such revision "main": did you mean "origin/main"?`},
		{clone, "topik", `no such revision "topik": did you mean "topic"?`},
		{clone, "topic:shop", `no such revision "topic:shop": git branch --all lists branches, and git fetch gets new ones`},
		{clone, "--all", `"--all" is not a revision: specify a branch, a tag or a commit`},
		{clone, "", `"" is not a revision: specify a branch, a tag or a commit`},
		{clone, "a\x1b[31m\nb", `no such revision "a\x1b[31m\nb": git branch --all lists branches, and git fetch gets new ones`},
		{shallow, "HEAD~1", `no such revision "HEAD~1": this is a shallow clone: ` + Unshallow},
		{shallow, "origin/main", `find the merge base of "origin/main" and HEAD: this is a shallow clone: ` + Unshallow},
		{empty, "HEAD", "there is no commit yet: commit first"},
	} {
		if _, err := open(t, test.dir).MergeBase(t.Context(), test.revision); err == nil || err.Error() != test.want {
			t.Errorf("%q: %v, want %s", test.revision, err, test.want)
		}
	}
	run(t, from, "checkout", "--quiet", "--orphan", "other")
	for _, state := range []string{"unborn", "unrelated"} {
		if base, err := open(t, from).MergeBase(t.Context(), "main"); err != nil || base != run(t, from, "rev-parse", "main") {
			t.Errorf("%s: %s, %v", state, base, err)
		}
		run(t, from, "commit", "--quiet", "--allow-empty", "--message=other")
	}
}

func TestMissingObjectsAreErrors(t *testing.T) {
	dir := history(t)
	run(t, dir, "update-index", "--add", "--cacheinfo", modeSubmodule+","+run(t, dir, "rev-parse", "base")+",sub")
	run(t, dir, "commit", "--quiet", "--message=submodule")
	r := open(t, dir)
	head, err := r.Resolve(t.Context(), Head)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Files(t.Context(), head, "sub"); err == nil || !strings.HasPrefix(err.Error(), "sub is a submodule in commit ") {
		t.Error(err)
	}
	if _, err := r.ReadFiles(t.Context(), map[string]File{"gone": {OID: head[1:] + "0", Mode: "100644"}}); err == nil || !strings.HasSuffix(err.Error(), " missing") {
		t.Error(err)
	}

	partial := t.TempDir()
	run(t, dir, "config", "uploadpack.allowFilter", "true")
	run(t, partial, "clone", "--quiet", "--no-checkout", "--filter=blob:none", "file://"+dir, ".")
	r = open(t, partial)
	files, err := r.Files(t.Context(), "HEAD", "shop")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadFiles(t.Context(), files); err == nil || !strings.Contains(err.Error(), "promisor") {
		t.Error(err)
	}
}

func TestTidyEscapesControls(t *testing.T) {
	for text, want := range map[string]string{
		"fatal: no\n":                           "no",
		"error: a\nhint: b\nhint:\n":            "a b",
		"remote: \x1b[31mred\u202e\nremote: \n": `remote: \x1b[31mred\u202e`,
		"10%\r100%\n::error::x":                 "10% 100% ::error::x",
	} {
		if got := Tidy(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestOriginIsTheSameInClonesOnly(t *testing.T) {
	dir := t.TempDir()
	origin := func(folder string) string {
		t.Helper()
		r, err := Open(t.Context(), folder)
		if err != nil {
			t.Fatal(err)
		}
		return r.Origin(t.Context())
	}
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, folder := range []string{a, b} {
		run(t, dir, "init", "--quiet", folder)
		if got := origin(folder); got != "" {
			t.Errorf("without commits: %s", got)
		}
		run(t, folder, "commit", "--quiet", "--allow-empty", "-m", folder)
		run(t, folder, "commit", "--quiet", "--allow-empty", "-m", "second")
	}
	clone, shallow, below := filepath.Join(dir, "clone"), filepath.Join(dir, "shallow"), filepath.Join(a, "team")
	run(t, dir, "clone", "--quiet", a, clone)
	run(t, dir, "clone", "--quiet", "--depth=1", "file://"+a, shallow)
	write(t, below, "file", "")
	first := origin(a)
	if origin(clone) != first || origin(b) == first || origin(shallow) != "" || origin(below) != first+"/team" || len(first) < 40 {
		t.Errorf("a: %s, clone: %s, b: %s, shallow: %s, below: %s", first, origin(clone), origin(b), origin(shallow), origin(below))
	}
}

func TestCheckBranchRejectsInvalidNames(t *testing.T) {
	for branch, isOne := range map[string]bool{
		"main": true, "env/prod": true, "1.5": true, "true": true, "feature/ü": true, "a@b": true, "a{b": true, "#1": true,
		"": false, "@": false, "HEAD": false, "-a": false, "refs/heads/main": false, "refs/tags/v1": false, "a..b": false, "a b": false, "a~1": false,
		"a^": false, "a:b": false, "a*": false, "a?": false, "a[b": false, `a\b`: false, "a@{1}": false, "/a": false, "a/": false, "a//b": false,
		".a": false, "a/.b": false, "a.": false, "a.lock": false, "a.lock/b": false, "a\nb": false, "a\x1b[1m": false,
	} {
		err := CheckBranch(t.Context(), branch)
		if (err == nil) != isOne || err != nil && strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q: %v", branch, err)
		}
	}
}

// sh runs a shell script in a folder.
func sh(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return string(out)
}
