package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync"

	"example.com/gatehouse/render/regular"
)

// folder is the folder of a rendered environment.
type folder struct {
	root *os.Root // the folder that holds rendered/
	path string   // rendered/<environment>, with slashes

	mu   sync.Mutex
	subs map[string]*sub
	made []string // the folders that were made, each after the one that holds it
}

// sub is an open folder. Its root is nil if the folder does not exist.
type sub struct {
	root *os.Root
	err  error
}

func newFolder(root *os.Root, path string) *folder {
	return &folder{root: root, path: path, subs: map[string]*sub{}}
}

// close closes what was opened.
func (f *folder) close() {
	for _, sub := range f.subs {
		sub.close()
	}
}

func (s *sub) close() {
	if s != nil && s.root != nil {
		_ = s.root.Close()
	}
}

// full returns the path of a file of the folder, from the root.
func (f *folder) full(name string) string { return path.Join(f.path, name) }

// open opens the folder of a file; it returns nil if there is none. It follows no links.
func (f *folder) open(name string) (*os.Root, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.openOnce(f.full(path.Dir(name)))
}

// make opens the folder of a file, and makes it if there is none.
func (f *folder) make(name string) (*os.Root, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	dir := f.full(path.Dir(name))
	opened, err := f.openOnce(dir)
	if opened != nil || err != nil {
		return opened, err
	}
	if err := f.makeAll(dir); err != nil {
		return nil, err
	}
	delete(f.subs, dir)
	return f.openOnce(dir)
}

// makeAll makes a folder and those that hold it, and records which it made.
func (f *folder) makeAll(dir string) error {
	for i, c := range dir + "/" {
		if c != '/' {
			continue
		}
		switch err := f.root.Mkdir(dir[:i], 0o755); {
		case err == nil:
			f.made = append(f.made, dir[:i])
		case !errors.Is(err, fs.ErrExist):
			return err
		}
	}
	return nil
}

// openOnce opens a folder, unless that was done before. The caller holds the lock.
func (f *folder) openOnce(dir string) (*os.Root, error) {
	opened, ok := f.subs[dir]
	if !ok {
		opened = &sub{}
		opened.root, opened.err = openReal(f.root, dir)
		f.subs[dir] = opened
	}
	return opened.root, opened.err
}

// openReal opens a folder that no link leads to; it returns nil if there is none.
func openReal(root *os.Root, dir string) (*os.Root, error) {
	for i, c := range dir + "/" {
		if c != '/' {
			continue
		}
		info, err := lstat(root, dir[:i], dir[:i])
		if info == nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("%s is not a folder: move it away", dir[:i])
		}
	}
	return root.OpenRoot(dir)
}

// lstat returns the info of a file or folder, nil if there is none. A link is an error, which
// names the file in full.
func lstat(root *os.Root, name, full string) (fs.FileInfo, error) {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("%s is a link: rendered manifests are written to real files and folders only; remove it", full)
	}
	return info, nil
}

// read returns the content of a file of the folder, nil if there is none.
func (f *folder) read(name string) ([]byte, error) {
	dir, err := f.open(name)
	if dir == nil {
		return nil, err
	}
	base := path.Base(name)
	info, err := lstat(dir, base, f.full(name))
	if info == nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file: move it away", f.full(name))
	}
	content, err := regular.ReadFile(dir, base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return content, nil
}
