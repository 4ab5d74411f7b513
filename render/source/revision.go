package source

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/regular"
	"example.com/gatehouse/render/watchdog"
)

// Revision is the files of a repository at one point: the work tree, or a commit. Names are as in package fs: relative
// to the root, with slashes, and "." for the root itself. No name has a link before its last part, and no method
// follows one.
type Revision interface {
	Lstat(name string) (fs.FileInfo, error)
	ReadLink(name string) (string, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	// ReadFile returns the content of a regular file.
	ReadFile(name string) ([]byte, error)
}

// Disk returns the work tree below root. Its path, without links, is dir.
func Disk(root *os.Root, dir string) Revision { return disk{root, dir} }

type disk struct {
	root *os.Root
	dir  string
}

func (d disk) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

func (d disk) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(d.path(name)) }

func (d disk) ReadLink(name string) (string, error) { return os.Readlink(d.path(name)) }

func (d disk) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(d.path(name)) }

func (d disk) ReadFile(name string) ([]byte, error) { return regular.ReadFile(d.root, name) }

// Once returns a revision as it is when it is first looked at: each file is read once. The environments of a run then
// share what they read in it.
func Once(of Revision) Revision { return &once{Revision: of} }

type once struct {
	Revision
	memo memo.Memo
}

// shared returns the memo of the environments that read a revision once, unless this one has other files.
func (f *FileSystem) shared() *memo.Memo {
	revision := f.revision
	if k, is := revision.(*knowing); is {
		revision = k.Revision
	}
	if o, isShared := revision.(*once); isShared && len(f.standIns) == 0 && f.ignoring == nil {
		return &o.memo
	}
	return nil
}

func (o *once) Lstat(name string) (fs.FileInfo, error) {
	type key string
	return keep(o, key(name), o.Revision.Lstat)
}

func (o *once) ReadFile(name string) ([]byte, error) {
	type key string
	return keep(o, key(name), o.Revision.ReadFile)
}

// keep returns the result of a function for the name in a key, once.
func keep[K ~string, V any](o *once, key K, read func(name string) (V, error)) (V, error) {
	type result struct {
		value V
		err   error
	}
	r := memo.Get(&o.memo, key, func() (r result) {
		r.value, r.err = read(string(key))
		return r
	})
	return r.value, r.err
}

// nameIn returns the name in a Revision of an absolute path of a FileSystem.
func nameIn(name string) string { return cmp.Or(strings.Trim(name, "/"), ".") }

// Walk calls visit with the name of each file and folder, but hidden ones, a folder before its entries. Visit reports
// whether to enter a folder. An unreadable one has no entries.
func Walk(r Revision, visit func(name string, entry fs.DirEntry) (enter bool)) {
	var below func(folder string)
	below = func(folder string) {
		entries, _ := r.ReadDir(folder)
		for _, entry := range entries {
			name := path.Join(folder, entry.Name())
			if !strings.HasPrefix(entry.Name(), ".") && visit(name, entry) && entry.IsDir() {
				below(name)
			}
		}
	}
	below(".")
}

// EachYAML calls f with the content of each YAML file, but in one folder and in hidden ones. It skips unreadable files.
func EachYAML(r Revision, but string, f func(name string, content []byte)) {
	Walk(r, func(name string, entry fs.DirEntry) (enter bool) {
		if entry.Type().IsRegular() && IsYAML(name) {
			if content, err := r.ReadFile(name); err == nil {
				done := watchdog.Part(func() manifest.Problem { return manifest.Problem{File: name} })
				f(name, content)
				done()
			}
		}
		return name != but
	})
}
