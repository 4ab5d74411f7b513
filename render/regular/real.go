package regular

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Real returns the info of a file or folder that a command writes, nil if it does not exist. A link on the way is an
// error, and so is git's folder: a pull request may make each part of the path a link to .git, which has tokens and
// starts programs.
func Real(root *os.Root, name string) (info fs.FileInfo, err error) {
	name = filepath.ToSlash(name)
	if slices.ContainsFunc(strings.Split(name, "/"), IsGit) {
		return nil, fmt.Errorf("%s belongs to git: name a folder outside of .git", name)
	}
	for i, c := range name + "/" {
		if c != '/' {
			continue
		}
		info, err = root.Lstat(name[:i])
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, err
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := root.Readlink(name[:i])
			return nil, fmt.Errorf("%s is a symbolic link to %s: no command writes through a link: remove it, or put "+
				"a real file or folder in its place", name[:i], target)
		case i < len(name) && !info.IsDir():
			return nil, fmt.Errorf("%s is not a folder: move it away", name[:i])
		}
	}
	return info, nil
}

// ReadReal returns the content of a file that a command may replace, nil if it does not exist: see Real.
func ReadReal(root *os.Root, name string) ([]byte, error) {
	if info, err := Real(root, name); info == nil {
		return nil, err
	}
	return ReadFile(root, name)
}

// IsGit reports whether any file system takes a part of a path for git's folder. It is as strict as git with
// core.protectNTFS and core.protectHFS, also in a name with a backslash.
func IsGit(part string) bool {
	return gitFolder.MatchString(strings.Map(func(r rune) rune {
		switch {
		case '\u200c' <= r && r <= '\u200f', '\u202a' <= r && r <= '\u202e', '\u206a' <= r && r <= '\u206f',
			r == '\ufeff': // HFS+ ignores these
			return -1
		}
		return r
	}, part))
}

// gitFolder matches .git and its short name. NTFS ignores dots and spaces at the end, and the name of a stream.
var gitFolder = regexp.MustCompile(`(?i)(^|\\)(\.git|git~1)[. ]*($|[:\\])`)
