//go:build unix

package regular

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNothingIsWrittenThroughALinkOrBelowGit(t *testing.T) {
	dir, root := open(t)
	for _, err := range []error{
		root.MkdirAll(".git/hooks", 0o755), root.Mkdir("real", 0o755), root.WriteFile("file", []byte("real"), 0o644),
		root.WriteFile(".git/config", []byte("token"), 0o644), root.Symlink(".git", "folder"), root.Symlink("folder", "chain"),
		root.Symlink("../.git/config", "real/config"), root.Symlink("gone", "real/dangling"), root.Symlink("file", "linked"),
		root.Symlink(dir, "absolute"), root.Symlink("self", "self"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"folder/config":    "folder is a symbolic link to .git: ",
		"folder/new/a":     "folder is a symbolic link to .git: ",
		"chain/hooks/a":    "chain is a symbolic link to folder: ",
		"real/config":      "real/config is a symbolic link to ../.git/config: ",
		"real/dangling":    "real/dangling is a symbolic link to gone: ",
		"linked":           "linked is a symbolic link to file: ",
		"absolute/file":    "absolute is a symbolic link to " + dir + ": ",
		"self/a":           "self is a symbolic link to self: ",
		"file/a":           "file is not a folder: ",
		".git/config":      ".git/config belongs to git: ",
		".git":             ".git belongs to git: ",
		"new/.GIT/hooks/a": "new/.GIT/hooks/a belongs to git: ",
		"real/../.git/a":   "real/../.git/a belongs to git: ",
	} {
		if err := ReplaceFile(root, name, []byte("new")); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s is replaced: %v, want %s", name, err, want)
		}
		if content, err := ReadReal(root, name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s is read: %q, %v, want %s", name, content, err, want)
		}
	}
	for _, name := range []string{"gone", "new", ".git/new", ".git/hooks/a", ".git/.render-new"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s exists: %v", name, err)
		}
	}
	for name, want := range map[string]string{"file": "real", ".git/config": "token"} {
		if content, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(content) != want {
			t.Errorf("%s has %q, %v", name, content, err)
		}
	}
	if content, err := ReadReal(root, "real/none"); content != nil || err != nil {
		t.Errorf("a file that does not exist has %q, %v", content, err)
	}
	if content, err := ReadReal(root, "file"); string(content) != "real" || err != nil {
		t.Errorf("a real file has %q, %v", content, err)
	}
}

func TestIsGitKnowsEverySpelling(t *testing.T) {
	for name, want := range map[string]bool{
		".git": true, ".GIT": true, ".gIt": true, "git~1": true, "GIT~1": true, ".git ": true, ".git.": true, ".git . .": true,
		".git::$INDEX_ALLOCATION": true, ".git:a": true, "GIT~1.:$DATA": true, `a\.git`: true, `.git\config`: true,
		".g\u200cit": true, "\ufeff.git": true, ".git\u202e": true, ".gi\u206ft": true,
		".github": false, ".gitattributes": false, ".gitlab-ci.yml": false, ".gitmodules": false, "git": false, "git~2": false,
		"a.git": false, ".git-a": false, "..git": false, " .git": false, ".git .a": false, ".gıt": false, "": false, ".": false,
	} {
		if IsGit(name) != want {
			t.Errorf("%q: want %t", name, want)
		}
	}
}
