package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// locate returns the nearest folder at or above dir with a .git to trust, and the folder of the repository. It asks
// no git, which takes any folder with the files of a bare repository for one: a pull request can add these, with
// a configuration that names programs.
func locate(dir string) (top, gitDir string, err error) {
	resolved, err := realPath(dir)
	if err != nil {
		return "", "", err
	}
	for folder := range above(resolved) {
		if gitDir := gitDirOf(folder); gitDir != "" {
			return folder, gitDir, nil
		}
	}
	for folder := range above(resolved) {
		if exists(folder, "HEAD") && exists(folder, "objects") && exists(folder, "refs") {
			return "", "", noWorkTree(dir)
		}
	}
	return "", "", noRepository(dir)
}

// ErrNoRepository is part of the error of a folder that is in no repository.
var ErrNoRepository = errors.New("is not in a git repository")

func noRepository(dir string) error {
	return fmt.Errorf("%s %w: run git init, or name another folder with --root", dir, ErrNoRepository)
}

func noWorkTree(dir string) error {
	const advice = "run this in a clone that is not bare, or create one with git worktree add"
	return fmt.Errorf("%s is not in a git work tree: %s", dir, advice)
}

// gitDirOf returns the folder of the repository whose work tree is top, or nothing. It is the folder .git,
// or the one that a file .git of a linked worktree or a submodule names.
func gitDirOf(top string) string {
	own := filepath.Join(top, ".git")
	gitDir, err := filepath.EvalSymlinks(own)
	if err != nil {
		return ""
	}
	if content, err := os.ReadFile(gitDir); err == nil { //nolint:gosec // a file, as git reads it
		named, _ := strings.CutPrefix(strings.TrimRight(string(content), "\r\n"), "gitdir: ")
		if !filepath.IsAbs(named) {
			named = filepath.Join(top, named)
		}
		if gitDir, err = filepath.EvalSymlinks(named); err != nil {
			return ""
		}
	}
	if !exists(gitDir, "HEAD") || gitDir != own && isContent(gitDir, top) {
		return ""
	}
	return gitDir
}

// isContent reports whether the folder of a repository, which the .git of another folder names, is among the files
// of a work tree: a pull request may add it there. No checkout of git writes a .git.
func isContent(gitDir, top string) bool {
	for folder := range above(gitDir) {
		if isBelow(folder, top) {
			continue
		}
		if owner := gitDirOf(folder); owner != "" {
			return !isBelow(gitDir, owner)
		}
	}
	return false
}

// above yields a folder and all folders above it.
func above(folder string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for yield(folder) && folder != filepath.Dir(folder) {
			folder = filepath.Dir(folder)
		}
	}
}

func isBelow(name, folder string) bool {
	within, err := filepath.Rel(folder, name)
	return err == nil && filepath.IsLocal(within)
}

func exists(folder, name string) bool {
	_, err := os.Lstat(filepath.Join(folder, name)) //nolint:gosec // reads nothing
	return err == nil
}

// realPath returns the path of a folder without links.
func realPath(dir string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(absolute)
	if errors.Is(err, os.ErrNotExist) {
		return "", noRepository(dir)
	}
	return resolved, err
}
