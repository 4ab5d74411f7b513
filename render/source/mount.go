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
	return mount{revision, fetcher}
}

// FetcherOf returns the fetcher of a revision, or nil.
func FetcherOf(revision Revision) fetched.Fetcher {
	switch r := revision.(type) {
	case *once:
		return FetcherOf(r.Revision)
	case mount:
		return r.fetcher
	case *knowing:
		return FetcherOf(r.Revision)
	}
	return nil
}

// IsFetching reports whether Fetch may get files.
func (f *FileSystem) IsFetching() bool { return FetcherOf(f.revision) != nil }

// MayFetch reports whether Fetch may get the files of a source.
func (f *FileSystem) MayFetch(from fetched.Source) bool { return f.IsFetching() || f.own(from).IsOwn }

// Fetch gets files that are not in the tree: of the repository itself at a revision that git has here, or else by the
// fetcher.
func (f *FileSystem) Fetch(from fetched.Source) (fetched.Files, error) {
	if own := f.own(from); own.IsOwn {
		return own, nil
	}
	fetcher := FetcherOf(f.revision)
	if fetcher == nil {
		return fetched.Files{}, fetched.ErrNotFetching
	}
	return fetcher.Fetch(from)
}

// mount has fetched files beside the files of a revision. No folder lists them.
type mount struct {
	Revision
	fetcher fetched.Fetcher
}

// of returns the revision that has a name, and the name in it.
func (m mount) of(name string) (Revision, string) {
	first, within, _ := strings.Cut(name, "/")
	switch {
	case first != fetched.Folder:
		return m.Revision, name
	case within == "":
		return m.fetcher, "."
	}
	return m.fetcher, within
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
