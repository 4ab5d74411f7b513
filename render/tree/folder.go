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
	dir  *os.Root // the folder itself; nil while there is none
	made []string // the folders that were made, each after the one that holds it

	found map[string]found // what list found, by path
}

// openFolder opens the folder of an environment, if there is one.
func openFolder(root *os.Root, environment string) (f *folder, err error) {
	f = &folder{root: root, path: path.Join(Folder, environment)}
	f.dir, err = openReal(root, f.path)
	return f, err
}

// list finds what is in the folder, so that read need not ask for each file.
func (f *folder) list() {
	if f.dir == nil {
		return
	}
	f.found = map[string]found{}
	for _, one := range findAll(f.dir.FS()) {
		f.found[one.path] = one
	}
}

func (f *folder) close() {
	if f.dir != nil {
		_ = f.dir.Close()
	}
}

// full returns the path of a file of the folder, from the root.
func (f *folder) full(name string) string { return path.Join(f.path, name) }

// openReal opens a folder that no link leads to; it returns nil if there is none.
func openReal(root *os.Root, dir string) (*os.Root, error) {
	info, err := lstat(root, "", dir)
	switch {
	case info == nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a folder: move it away", dir)
	}
	return root.OpenRoot(dir)
}

// lstat returns the info of a file or folder of a folder, nil if there is none. A link is an
// error, and so is one to a folder that holds it.
func lstat(dir *os.Root, dirPath, name string) (info fs.FileInfo, err error) {
	for i, c := range name + "/" {
		if c != '/' {
			continue
		}
		info, err = dir.Lstat(name[:i])
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, err
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, fmt.Errorf("%s is a link: rendered manifests are written to real files and folders only; remove it", path.Join(dirPath, name[:i]))
		case i < len(name) && !info.IsDir():
			return nil, fmt.Errorf("%s is not a folder: move it away", path.Join(dirPath, name[:i]))
		}
	}
	return info, nil
}

// read returns the content of a file of the folder, nil if there is none.
func (f *folder) read(name string) ([]byte, error) { return f.readFrom(f.dir, name, name) }

// readFrom returns the content of a file of the folder that has another name in the folder dir.
func (f *folder) readFrom(dir *os.Root, base, name string) ([]byte, error) {
	if dir == nil {
		return nil, nil
	}
	if !f.found[name].isRegular { // list did not find it: maybe the file system takes Z for z
		info, err := lstat(dir, f.full(path.Dir(name)), base)
		switch {
		case info == nil:
			return nil, err
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("%s is not a file: move it away", f.full(name))
		}
	}
	content, err := regular.ReadFile(dir, base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.full(path.Dir(name)), err)
	}
	return content, nil
}

// content is the content of a file, nil if there is none, or why it cannot be read.
type content struct {
	bytes []byte
	err   error
}

// readAll returns the contents of files of the folder, by name.
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

// forEach calls do for each of some files, by its position, with the folder that holds it, nil if there
// is none, and returns an error for each. It takes several folders at a time, each with its files: file
// systems are slow where files are created now in one folder, now in another.
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
			if errs[at] = err; err == nil {
				errs[at] = do(holder, at)
			}
		}
	})
	return errs
}

// found is a file in a folder, or a folder that cannot be read.
type found struct {
	path      string
	isRegular bool
	isOrphan  bool // unless an index lists it
}

// findAll returns what is in a folder, in the order of paths, as find does.
func findAll(folder fs.FS) []found {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return []found{{path: ".", isOrphan: true}}
	}
	all := make([][]found, len(entries))
	parallel.For(len(entries), func(i int) { all[i] = find(folder, entries[i].Name()) })
	return slices.Concat(all...)
}

// find returns what is at a path: a file, or what is in a folder and those below. It leaves hidden
// folders out.
func find(in fs.FS, at string) (all []found) {
	_ = fs.WalkDir(in, at, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fs.SkipDir
		case err != nil:
			all = append(all, found{path: name, isOrphan: true})
			return fs.SkipDir
		case entry.IsDir() && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case !entry.IsDir():
			all = append(all, found{name, entry.Type().IsRegular(), isOrphan(entry.Name())})
		}
		return nil
	})
	return all
}
