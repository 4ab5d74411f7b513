package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/regular"
)

// folder is the folder of a rendered environment.
type folder struct {
	root *os.Root // the folder that holds rendered/
	path string   // rendered/<environment>, with slashes
	dir  *os.Root // the folder itself; nil while there is none
	made []string // the folders that were made, each after the one that holds it
}

// openFolder opens the folder of an environment, if there is one.
func openFolder(root *os.Root, environment string) (f *folder, err error) {
	f = &folder{root: root, path: path.Join(Folder, environment)}
	f.dir, err = openReal(root, f.path)
	return f, err
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
func (f *folder) read(name string) ([]byte, error) {
	if f.dir == nil {
		return nil, nil
	}
	info, err := lstat(f.dir, f.path, name)
	switch {
	case info == nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file: move it away", f.full(name))
	}
	content, err := regular.ReadFile(f.dir, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return content, nil
}

// readAll returns the contents of files of the folder, nil where there is none. It reads several at a
// time, and looks once for the folder that holds some of them.
func (f *folder) readAll(names []string) (contents [][]byte, errs []error) {
	const most = 64
	contents, errs = make([][]byte, len(names)), make([]error, len(names))
	byFolder := map[string][]int{}
	for i, name := range names {
		byFolder[path.Dir(name)] = append(byFolder[path.Dir(name)], i)
	}
	var chunks [][]int
	for _, all := range byFolder {
		chunks = slices.AppendSeq(chunks, slices.Chunk(all, most))
	}
	parallel.For(len(chunks), func(i int) {
		holder := &folder{root: f.root, path: f.full(path.Dir(names[chunks[i][0]]))}
		var err error
		holder.dir, err = openReal(f.root, holder.path)
		defer holder.close()
		for _, at := range chunks[i] {
			if errs[at] = err; err == nil {
				contents[at], errs[at] = holder.read(path.Base(names[at]))
			}
		}
	})
	return contents, errs
}
