package source

import (
	"io/fs"
	"path"
	"strings"
	"sync"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/fetched"
)

// History returns the files of a source that is the repository at a revision that git has here, and its commit; nil of
// any other source.
type History func(from fetched.Source) (files Revision, commit string)

// Knowing returns a revision that has other revisions of its repository, as if they were fetched.
func Knowing(revision Revision, history History) Revision {
	return &knowing{Revision: revision, history: history, found: map[string]Revision{}}
}

// knowing has the files of commits below fetched.Folder, each in a folder of its own. No folder lists them.
type knowing struct {
	Revision
	history History

	mu    sync.Mutex
	found map[string]Revision // by the name of their folder
}

// own returns the files of a source that is the repository of the file system; otherwise they are not its own.
func (f *FileSystem) own(from fetched.Source) (files fetched.Files) {
	k, is := f.revision.(*knowing)
	if !is {
		return files
	}
	revision, commit := k.history(from)
	if revision == nil {
		return files
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	version := strings.TrimPrefix(strings.TrimPrefix(from.Version, "refs/tags/"), "refs/heads/")
	folder := manifest.RevisedFolder(commit, version)
	k.found[folder] = revision
	name := strings.TrimSuffix(path.Base(from.Repository), ".git")
	return fetched.Files{Source: from, Resolved: commit, IsOwn: true,
		Path: path.Join("/", fetched.Folder, folder, name)}
}

// of returns the revision that has a name, and the name in it: one of a commit is that of its folder, that of the
// repository, and the rest. The folders above are like the root.
func (k *knowing) of(name string) (Revision, string) {
	const depth = 3
	parts := strings.SplitN(name, "/", depth+1)
	k.mu.Lock()
	defer k.mu.Unlock()
	if parts[0] != fetched.Folder || len(k.found) == 0 {
		return k.Revision, name
	}
	if len(parts) == 1 {
		return k.Revision, "."
	}
	revision, isFound := k.found[parts[1]]
	switch {
	case !isFound:
		return k.Revision, name
	case len(parts) < depth:
		return revision, "."
	}
	return revision, nameIn(strings.Join(parts[depth:], "/"))
}

func (k *knowing) Lstat(name string) (fs.FileInfo, error) {
	of, name := k.of(name)
	return of.Lstat(name)
}

func (k *knowing) ReadLink(name string) (string, error) {
	of, name := k.of(name)
	return of.ReadLink(name)
}

func (k *knowing) ReadDir(name string) ([]fs.DirEntry, error) {
	of, name := k.of(name)
	return of.ReadDir(name)
}

func (k *knowing) ReadFile(name string) ([]byte, error) {
	of, name := k.of(name)
	return of.ReadFile(name)
}
