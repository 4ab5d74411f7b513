package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/regular"
)

// folder is the folder of a rendered environment.
type folder struct {
	root *os.Root // the folder that holds rendered/
	path string   // rendered/<environment>, with slashes
	dir  *os.Root // the folder itself; nil while it does not exist
	made []string // new folders, parents first

	entries map[string]entry // the result of scan, by path
}

func openFolder(root *os.Root, environment string) (f *folder, err error) {
	f = &folder{root: root, path: path.Join(Folder, environment)}
	f.dir, err = openReal(root, f.path)
	return f, err
}

// scan lists the folder, so that reads need no further checks of each file.
func (f *folder) scan() {
	if f.dir == nil {
		return
	}
	f.entries = map[string]entry{}
	for _, e := range scanFolder(f.dir.FS()) {
		f.entries[e.path] = e
	}
}

func (f *folder) close() {
	if f.dir != nil {
		_ = f.dir.Close()
	}
}

func (f *folder) full(name string) string { return path.Join(f.path, name) }

// openReal opens a folder without following links. It returns nil if the folder does not exist.
func openReal(root *os.Root, dir string) (*os.Root, error) {
	info, err := regular.Real(root, dir)
	switch {
	case info == nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a folder: move it away", dir)
	}
	return root.OpenRoot(dir)
}

// read returns the content of a file, nil if it does not exist.
func (f *folder) read(name string) ([]byte, error) { return f.readFrom(f.dir, name, name) }

// readFrom reads a file from dir, the folder that holds it.
func (f *folder) readFrom(dir *os.Root, base, name string) (content []byte, err error) {
	switch {
	case dir == nil:
		return nil, nil
	case f.entries[name].isRegular:
		content, err = regular.ReadFile(dir, base)
	default: // scan missed it: the file system may ignore case
		content, err = regular.ReadReal(dir, base)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.full(path.Dir(name)), err)
	}
	return content, nil
}

// content is the content of a file, nil without a file, or the error of reading it.
type content struct {
	bytes []byte
	err   error
}

// readAll reads files, and returns their contents by name.
func (f *folder) readAll(names []string) map[string]content {
	contents := make([][]byte, len(names))
	errs := f.forEach(names, func(holder *os.Root, i int) (err error) {
		contents[i], err = f.readFrom(holder, path.Base(names[i]), names[i])
		return err
	})
	all := make(map[string]content, len(names))
	for i, name := range names {
		all[name] = content{contents[i], errs[i]}
	}
	return all
}

// forEach calls do with the index of each name and the folder that holds the file, nil if that does not
// exist, and returns the errors by index. It works folder by folder, several at a time: file systems are
// slow to create files alternately in different folders.
func (f *folder) forEach(names []string, do func(holder *os.Root, i int) error) []error {
	held := map[string][]int{}
	for i, name := range names {
		held[path.Dir(name)] = append(held[path.Dir(name)], i)
	}
	var chunks [][]int
	for _, in := range held {
		chunks = slices.AppendSeq(chunks, slices.Chunk(in, 64))
	}
	errs := make([]error, len(names))
	parallel.For(len(chunks), func(i int) {
		holder, err := openReal(f.root, f.full(path.Dir(names[chunks[i][0]])))
		if holder != nil {
			defer holder.Close()
		}
		for _, at := range chunks[i] {
			errs[at] = err
			if err == nil {
				errs[at] = do(holder, at)
			}
		}
	})
	return errs
}

// entry is a file in a folder, or a folder that is hidden, empty or unreadable. A submodule that is not
// checked out is an empty folder.
type entry struct {
	path      string
	isRegular bool
}

// scanFolder returns the entries of a folder as scanPath does.
func scanFolder(folder fs.FS) []entry {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return []entry{{path: "."}}
	}
	all := make([][]entry, len(entries))
	parallel.For(len(entries), func(i int) { all[i] = scanPath(folder, entries[i].Name()) })
	return slices.Concat(all...)
}

// scanPath returns the entry at a path, or all entries below it, sorted. It does not follow links.
func scanPath(in fs.FS, at string) (all []entry) {
	if info, err := fs.Lstat(in, at); err == nil && info.Mode()&fs.ModeSymlink != 0 { // WalkDir would follow it
		return []entry{{path: at}}
	}
	_ = fs.WalkDir(in, at, func(name string, e fs.DirEntry, err error) error {
		if last := len(all) - 1; last >= 0 && all[last].path == path.Dir(name) {
			all = all[:last] // the folder is not empty
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fs.SkipDir
		case err == nil && !e.IsDir():
			all = append(all, entry{name, e.Type().IsRegular()})
			return nil
		}
		all = append(all, entry{path: name})
		if err != nil || strings.HasPrefix(e.Name(), ".") {
			return fs.SkipDir
		}
		return nil
	})
	return all
}
