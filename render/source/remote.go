package source

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// remote matches what people write for something to fetch, and all that kustomize would
// fetch: a URL, a git repository, or a user at a host.
var remote = regexp.MustCompile(`(?i)^(git::|gh:|https?:|[a-z][a-z0-9+.-]*://|[a-z][a-z0-9-]*@[^/:]*[/:]|(www\.)?github\.com[:/])`)

// resolve finds a path that is written in a kustomization, or returns what is wrong with it.
func (s *Sources) resolve(folder, name string, l loads) (resolved string, isDir bool, wrong string) {
	switch {
	case name == "":
		return "", false, l.field + ": an empty path: remove it"
	case strings.Contains(name, "\n"):
		return "", false, fmt.Sprintf("%s: %s is no path: write that of a file, on one line", l.field, clip(strings.ReplaceAll(name, "\n", " ")))
	case path.IsAbs(name):
		return "", false, fmt.Sprintf("%s is absolute: write a path relative to %s", name, Relative(folder))
	}
	resolved, isDir, err := s.FS.Resolve(path.Join(folder, name))
	isThere := !errors.Is(err, fs.ErrNotExist)
	isRemote := remote.MatchString(name) && (!isThere || isDir || strings.HasPrefix(strings.ToLower(name), "http"))
	switch {
	case isRemote && isThere:
		return "", false, fmt.Sprintf("kustomize may take %s for a remote repository: write ./%s for what is here", name, name)
	case isRemote:
		return "", false, name + " is remote: rendering reads only this repository; copy it here and write its path"
	case !isThere:
		return "", false, name + ": no such file or folder in this repository"
	case err != nil:
		return "", false, err.Error()
	}
	return resolved, isDir, ""
}
