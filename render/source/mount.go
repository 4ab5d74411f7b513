package source

import (
	"io/fs"
	"strings"

	"example.com/gatehouse/render/source/fetched"
)

// Fetching returns a revision with the files that a fetcher gets, below fetched.Folder; the revision itself without a
// fetcher.
func Fetching(revision Revision, fetcher fetched.Fetcher) Revision {
	if fetcher == nil {
		return revision
	}
	return mount{revision, fetched.Folder, fetcher}
}

// Mounted returns a file system with the files of a commit of the repository beside its own, and their folder.
func (f *FileSystem) Mounted(commit string, files Revision) (with *FileSystem, folder string) {
	folder = ".commit-" + commit[:min(len(commit), 12)]
	with = f.With(nil)
	with.seen = &seen{revision: mount{f.revision, folder, files}, dir: f.dir, look: f.look,
		resolved: map[string]resolution{}, files: map[string][]byte{}}
	return with, "/" + folder
}

// FetcherOf returns the fetcher of a revision, or nil.
func FetcherOf(revision Revision) fetched.Fetcher {
	switch r := revision.(type) {
	case *once:
		return FetcherOf(r.Revision)
	case mount:
		if fetcher, is := r.other.(fetched.Fetcher); is {
			return fetcher
		}
		return FetcherOf(r.Revision)
	}
	return nil
}

// IsFetching reports whether Fetch may get files.
func (f *FileSystem) IsFetching() bool { return FetcherOf(f.revision) != nil }

// Fetch gets files that are not in the tree.
func (f *FileSystem) Fetch(from fetched.Source) (fetched.Files, error) {
	fetcher := FetcherOf(f.revision)
	if fetcher == nil {
		return fetched.Files{}, fetched.ErrNotFetching
	}
	return fetcher.Fetch(from)
}

// mount has the files of another revision beside those of a revision, in a folder that no folder lists.
type mount struct {
	Revision
	folder string
	other  Revision
}

// of returns the revision that has a name, and the name in it.
func (m mount) of(name string) (Revision, string) {
	first, within, _ := strings.Cut(name, "/")
	if first != m.folder {
		return m.Revision, name
	}
	return m.other, nameIn(within)
}

func (m mount) Lstat(name string) (fs.FileInfo, error) {
	of, name := m.of(name)
	return of.Lstat(name)
}

func (m mount) ReadLink(name string) (string, error) {
	of, name := m.of(name)
	return of.ReadLink(name)
}

func (m mount) ReadDir(name string) ([]fs.DirEntry, error) {
	of, name := m.of(name)
	return of.ReadDir(name)
}

func (m mount) ReadFile(name string) ([]byte, error) {
	of, name := m.of(name)
	return of.ReadFile(name)
}
