package source

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// remote is what people write for something to fetch: a URL, a git repository, or a user
// at a host.
var remote = regexp.MustCompile(`(?i)^(git::|gh:|[a-z][a-z0-9+.-]*://|[a-z][a-z0-9-]*@|(www\.)?github\.com[:/])`)

// resolve finds a path that is written in a kustomization, or says what is wrong
// with it.
func (s *Sources) resolve(folder, name string, l loads) (resolved string, isDir bool, wrong string) {
	isRemote := name + " is remote: rendering reads only this repository; copy it here and write its path"
	switch {
	case name == "":
		return "", false, l.field + ": an empty path: remove it"
	case strings.Contains(name, "\n"):
		return "", false, fmt.Sprintf("%s: %s is no path: write that of a file, on one line", l.field, clip(strings.ReplaceAll(name, "\n", " ")))
	case isURL(name):
		return "", false, isRemote
	case path.IsAbs(name):
		return "", false, fmt.Sprintf("%s is absolute: write a path relative to %s", name, Relative(folder))
	}
	resolved, isDir, err := s.FS.Resolve(path.Join(folder, name))
	isThere := !errors.Is(err, fs.ErrNotExist)
	isFile := isThere && !isDir
	switch {
	case l.is.mayBeFolder() && (!isFile || l.is == loadFolder) && isRepository(name):
		if isThere {
			return "", false, fmt.Sprintf("kustomize takes %s for a remote repository: write ./%s for what is here", name, name)
		}
		return "", false, isRemote
	case !isThere && remote.MatchString(name):
		return "", false, isRemote
	case !isThere:
		return "", false, name + ": no such file or folder in this repository"
	case err != nil:
		return "", false, err.Error()
	}
	return resolved, isDir, ""
}

// isURL says whether kustomize fetches a path over HTTP.
func isURL(name string) bool {
	u, err := url.Parse(name)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

var userName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*@`)

// isRepository says whether kustomize takes the path of a folder for a git repository, by
// the rules of NewRepoSpecFromURL of sigs.k8s.io/kustomize/api/internal/git.
func isRepository(name string) bool {
	name, _, _ = strings.Cut(name, "?")
	if after, ok := cutPrefixFold(name, "git::"); ok {
		name = after
	}
	scheme := ""
	for _, prefix := range []string{"ssh://", "https://", "http://", "file://"} {
		if after, ok := cutPrefixFold(name, prefix); ok {
			scheme, name = prefix, after
			break
		}
	}
	user := userName.FindString(name)
	if scheme == "file://" {
		return isRepositoryPath(name, 1)
	}
	name = name[len(user):]
	_, isGitHub := cutPrefixFold(name, "github.com")
	isGitHub = isGitHub && len(name) > len("github.com") && strings.ContainsRune("/:", rune(name[len("github.com")]))
	isSCP := scheme == "" && (user != "" || isGitHub)
	if scheme == "" && !isSCP {
		return false
	}
	host, rest := name, ""
	if end := pathStart(name, isSCP); end >= 0 {
		host, rest = name[:end+1], name[end+1:]
	}
	return host != "" && isRepositoryPath(rest, 2)
}

// pathStart is where the host of a repository ends.
func pathStart(name string, isSCP bool) int {
	slash, colon := strings.Index(name, "/"), strings.Index(name, ":")
	if isSCP && (slash < 0 || colon > 0 && colon < slash) {
		return colon
	}
	return slash
}

// isRepositoryPath says whether the path of a repository has enough segments, or a mark of
// where the repository ends.
func isRepositoryPath(name string, segments int) bool {
	repository, inside := name, ""
	if before, after, ok := strings.Cut(name, "_git/"); ok {
		first, rest, _ := strings.Cut(after, "/")
		repository, inside = before+"_git/"+first, rest
	} else if before, after, ok := strings.Cut(name, "//"); ok {
		repository, inside = before, after
	} else if before, after, ok := strings.Cut(name, ".git"); ok {
		repository, inside = before+".git", after
	} else if parts := strings.Split(name, "/"); segments > 1 {
		if len(parts) < segments {
			return false
		}
		repository, inside = strings.Join(parts[:segments], "/"), strings.Join(parts[segments:], "/")
	}
	first, _, _ := strings.Cut(path.Clean(strings.TrimPrefix(inside, "/")), "/")
	return repository != "" && first != ".."
}

func cutPrefixFold(s, prefix string) (after string, found bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}
