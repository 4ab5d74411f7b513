package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bareFiles adds the files of a bare repository to a folder.
func bareFiles(t *testing.T, folder string) {
	t.Helper()
	run(t, t.TempDir(), "init", "--quiet", "--bare", folder)
	run(t, t.TempDir(), "--git-dir="+folder, "config", "core.bare", "false")
}

func TestLocateTakesNoRepositoryAmongFiles(t *testing.T) {
	for name, test := range map[string]struct {
		bare  []string          // folders
		named map[string]string // by files .git in folders
	}{
		"in the folder":            {bare: []string{"shop"}},
		"above the folder":         {bare: []string{"."}},
		"named by .git":            {bare: []string{"evil"}, named: map[string]string{"shop": "../evil"}},
		"named by .git, below it":  {bare: []string{"shop/evil"}, named: map[string]string{"shop": "evil"}},
		"named by two":             {bare: []string{"a/evil"}, named: map[string]string{"a": "evil", "shop": "../a/evil"}},
		"named by two, one below":  {bare: []string{"shop/b/evil"}, named: map[string]string{"shop/b": "evil", "shop": "b/evil"}},
		"named by .git, elsewhere": {named: map[string]string{"shop": "/nowhere"}},
		"the folder itself":        {bare: []string{"shop"}, named: map[string]string{"shop": "."}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := history(t)
			for _, folder := range test.bare {
				bareFiles(t, filepath.Join(dir, folder))
			}
			for folder, named := range test.named {
				write(t, dir, filepath.Join(folder, ".git"), "gitdir: "+named+"\n")
			}
			mustLocate(t, dir)
		})
	}
	t.Run("an empty .git", func(t *testing.T) {
		dir := history(t)
		if err := os.Mkdir(filepath.Join(dir, "shop/.git"), 0o755); err != nil {
			t.Fatal(err)
		}
		mustLocate(t, dir)
	})
	t.Run("at the end of a link", func(t *testing.T) {
		dir := history(t)
		bareFiles(t, filepath.Join(dir, "evil"))
		if err := os.Symlink("../evil", filepath.Join(dir, "shop/.git")); err != nil {
			t.Fatal(err)
		}
		mustLocate(t, dir)
	})
}

// mustLocate checks that the repository of the folder shop is the one at the top.
func mustLocate(t *testing.T, top string) {
	t.Helper()
	r := open(t, filepath.Join(top, "shop"))
	if r.top != top || r.gitDir != filepath.Join(top, ".git") || r.Prefix() != "shop" {
		t.Errorf("%+v", r)
	}
}

func TestLocateFollowsGitToFoldersElsewhere(t *testing.T) {
	for name, add := range map[string]func(t *testing.T, dir string) (folder string){
		"a separate folder": func(t *testing.T, dir string) string {
			run(t, dir, "init", "--quiet", "--separate-git-dir=repository", "work")
			return "work"
		},
		"a worktree below a bare clone that .git names": func(t *testing.T, dir string) string {
			run(t, dir, "clone", "--quiet", "--bare", history(t), "project/.bare")
			write(t, dir, "project/.git", "gitdir: ./.bare\n")
			run(t, filepath.Join(dir, "project"), "worktree", "add", "--quiet", "work", "main")
			return "project/work"
		},
		"a worktree of a clone in another work tree": func(t *testing.T, dir string) string {
			run(t, dir, "init", "--quiet")
			run(t, dir, "clone", "--quiet", history(t), "build/clone")
			run(t, filepath.Join(dir, "build/clone"), "worktree", "add", "--quiet", "--detach", "../work", "HEAD")
			return "build/work"
		},
		"a work tree above .git": func(t *testing.T, dir string) string {
			run(t, dir, "init", "--quiet", "work")
			run(t, filepath.Join(dir, "work"), "config", "core.worktree", dir)
			return "work"
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			folder := filepath.Join(dir, add(t, dir))
			r := open(t, folder)
			gitDir, top := run(t, folder, "rev-parse", "--absolute-git-dir"), run(t, folder, "rev-parse", "--show-toplevel")
			if r.gitDir != gitDir || r.top != top {
				t.Errorf("%s and %s, want %s and %s", r.top, r.gitDir, top, gitDir)
			}
		})
	}
}

func TestResolveRefusesAmbiguousNames(t *testing.T) {
	dir := history(t)
	main, base := run(t, dir, "rev-parse", "main"), run(t, dir, "rev-parse", "base")
	for _, ref := range []string{
		"refs/remotes/origin/main", "refs/heads/only", "refs/remotes/origin/HEAD", "refs/heads/MAIN", "refs/remotes/other/main",
		"refs/remotes/origin/release",
	} {
		run(t, dir, "update-ref", ref, main)
	}
	for _, ref := range []string{
		"refs/tags/origin/main", "refs/tags/HEAD", "refs/tags/ORIG_HEAD", "refs/tags/refs/heads/gone", "refs/heads/base",
		"refs/tags/refs/remotes/origin/main", "refs/tags/" + main, "refs/tags/" + main[:8], "refs/tags/origin/HEAD",
		"refs/heads/other/main", "refs/tags/release",
	} {
		run(t, dir, "update-ref", ref, base)
	}
	run(t, dir, "update-ref", "ORIG_HEAD", main)
	head := run(t, dir, "rev-parse", "topic")
	r := open(t, dir)
	for revision, want := range map[string]string{
		"HEAD": head, "@": head, "HEAD^{commit}": head, "HEAD~1": base, "ORIG_HEAD": main, "MAIN": main,
		"only": main, "only^": base, "main@{0}": main,
		"refs/remotes/origin/main": main, "refs/tags/base": base, main: main, base[:8]: base,
		"origin/main":     `revision "origin/main" is ambiguous: write refs/remotes/origin/main or refs/tags/origin/main`,
		"origin/main~1":   `revision "origin/main" is ambiguous: write refs/remotes/origin/main or refs/tags/origin/main`,
		"base":            `revision "base" is ambiguous: write refs/heads/base or refs/tags/base`,
		"origin/HEAD":     `revision "origin/HEAD" is ambiguous: write refs/remotes/origin/HEAD or refs/tags/origin/HEAD`,
		main[:8]:          `revision "` + main[:8] + `" is ambiguous: write ` + main + ` or refs/tags/` + main[:8],
		"release":         `revision "release" is ambiguous: write refs/remotes/origin/release or refs/tags/release`,
		"refs/heads/gone": `no such revision "refs/heads/gone"`,
		"gone":            `no such revision "gone"`,
	} {
		got, err := r.Resolve(t.Context(), revision)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", revision, got, want)
		}
	}
	for branch, want := range map[string]string{
		"main": main, "refs/remotes/origin/main": main, "base": base, "origin/main": main,
		"other/main":           `revision "other/main" is ambiguous: write refs/heads/other/main or refs/remotes/other/main`,
		"refs/tags/base":       `no such branch "refs/tags/base"`,
		"refs/heads/gone":      `no such branch "refs/heads/gone"`,
		"refs/remotes/origin":  `no such branch "refs/remotes/origin"`,
		"HEAD~1":               `no such branch "HEAD~1"`,
		"ORIG_HEAD":            `no such branch "ORIG_HEAD"`,
		base:                   `no such branch "` + base + `"`,
		"--all":                `no such branch "--all"`,
		"refs/heads/main:shop": `no such branch "refs/heads/main:shop"`,
	} {
		got, err := r.ResolveBranch(t.Context(), branch)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", branch, got, want)
		}
	}
	if tip, err := r.Tip(t.Context(), BranchRef("gone")); tip != "" || err != nil {
		t.Errorf("a tag with the full name of a branch: %s, %v", tip, err)
	}
}

func TestCheckOutWritesBlobsAndStaysInTheFolder(t *testing.T) {
	dir := history(t)
	write(t, dir, ".gitattributes", "* filter=x\n")
	write(t, dir, "shop/.gitattributes", "*.txt text eol=crlf\n")
	write(t, dir, "shop/a.txt", "one\ntwo\n")
	if err := os.Symlink("a.txt", filepath.Join(dir, "shop/link")); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "add", "--all")
	run(t, dir, "config", "filter.x.smudge", "false")
	run(t, dir, "config", "filter.x.required", "true")
	r := open(t, filepath.Join(dir, "shop"))
	folder, remove, err := r.CheckOutIndex(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	target, linkErr := os.Readlink(filepath.Join(folder, "link"))
	content, err := os.ReadFile(filepath.Join(folder, "link"))
	if string(content) != "one\ntwo\n" || err != nil || target != "a.txt" || linkErr != nil {
		t.Errorf("%q, %v, %s, %v", content, err, target, linkErr)
	}
	if exists(filepath.Dir(folder), ".gitattributes") {
		t.Error("a file above the folder is checked out")
	}

	file := run(t, dir, "rev-parse", ":shop/a.txt")
	for _, entry := range []string{"100644 blob " + file + "\t.GIT", "100644 blob " + file + "\t.."} {
		write(t, dir, "entries", entry+"\n")
		tree := strings.TrimSpace(sh(t, dir, "git mktree < entries"))
		if _, _, err := open(t, dir).CheckOut(t.Context(), tree); err == nil {
			t.Errorf("%s: checked out", entry)
		}
	}
}
