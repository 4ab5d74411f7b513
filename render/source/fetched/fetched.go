// Package fetched names files that are not in the tree of a repository: charts, artifacts and git repositories. Package
// fetch gets them.
package fetched

import (
	"cmp"
	"errors"
	"io/fs"
	"strings"
)

// Folder has fetched files in the file system of a build. It is never on disk.
const Folder = ".fetched"

// Top returns the folder of the repository or the artifact that has a fetched file, or nothing for a file of the tree.
func Top(name string) string {
	parts := strings.SplitN(name, "/", 5) // "", Folder, the digest, the name
	if len(parts) < 4 || parts[1] != Folder {
		return ""
	}
	return strings.Join(parts[:4], "/")
}

// Source names files by their repository and version, as the object that delivers them does.
type Source struct {
	// Repository is a URL: of a Helm repository, of the folder of a chart in a registry (oci://), of an artifact there,
	// or of a git repository.
	Repository string `json:"repository"`
	// Chart is the name of a chart, and empty for anything else.
	Chart string `json:"chart,omitempty"`
	// Version is a version, or a range, of a chart; a tag of an artifact; or a branch, a tag or a commit of git.
	Version string `json:"version,omitempty"`
	// Range selects among versions in place of Version, and Filter, a regular expression, leaves out tags before.
	Range  string `json:"range,omitempty"`
	Filter string `json:"-"`
	// Manifest is the digest of an artifact, and Archive the digest of a chart in a lock.
	Manifest, Archive string `json:"-"`
	// IsPlain reports whether a registry speaks HTTP.
	IsPlain bool `json:"-"`
	// IsGit reports whether the repository is one of git.
	IsGit bool `json:"-"`
	// IsFile and IsBase report whether the repository is an entry of a kustomization: the URL of a file, or a base. It
	// may be either, and then is a base if there is no file with objects.
	IsFile bool `json:"-"`
	IsBase bool `json:"-"`
}

// String names the source for people.
func (s Source) String() string {
	name := s.Repository
	if s.Chart != "" {
		name = strings.TrimSuffix(name, "/") + "/" + s.Chart
	}
	return strings.TrimSpace(name + " " + cmp.Or(s.Manifest, s.Range, s.Version))
}

// Files are fetched files.
type Files struct {
	Source
	// Resolved is the version that a range, a branch or a tag stands for in this run: a version, or a commit. A file
	// has none.
	Resolved string `json:"resolved"`
	// Digest is the SHA-256 of the archive.
	Digest string `json:"digest"`
	// Path is the archive of a chart, the folder of an artifact, a git repository or a base, or the file of an entry,
	// in the file system of a build.
	Path string `json:"-"`
	// IsOwn reports whether the files are of the repository itself, at a revision that git has here.
	IsOwn bool `json:"-"`
}

// ErrNotFetching is the error of each source in a run that fetches nothing.
var ErrNotFetching = errors.New("nothing is fetched")

// ErrNewSource is the error of a source that a change may not add by itself. Its message has the host.
type ErrNewSource struct{ Host string }

func (e ErrNewSource) Error() string {
	return "the base does not name the host " + e.Host + ": review the new source, and allow it by --fetch-from " +
		e.Host
}

// Fetcher gets files. All calls of a run for a source have the same result for any tree. The file system has the
// files by their digest, with names below Folder.
type Fetcher interface {
	Fetch(from Source) (Files, error)

	Lstat(name string) (fs.FileInfo, error)
	ReadLink(name string) (string, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	ReadFile(name string) ([]byte, error)
}

// Reason returns the reason of a delivery or a chart whose files were not fetched.
func Reason(what string, err error) string {
	var added ErrNewSource
	if errors.As(err, &added) {
		return "new source: " + added.Host + ": " + what
	}
	return "not fetched: " + what + ": " + err.Error()
}
