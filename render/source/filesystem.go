package source

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"example.com/gatehouse/render/regular"
	"example.com/gatehouse/render/watchdog"
)

// FileSystem is the file system that kustomize builds from. Its root, "/", is the folder with
// environments/. No path and no link leads out of it. It reads each file once and keeps the content.
// Its methods may be called concurrently.
type FileSystem struct {
	filesys.FileSystem // empty, for methods that no build calls

	disk *disk

	standIns map[string][]byte // content in place of, or beside, the files on disk
	folders  map[string]bool   // of standIns
}

// NewFileSystem returns the file system below root. The path of root on disk, without links, is dir. It calls look, if
// not nil, with each path below the root, with slashes, before it is first read. Calls may be concurrent.
func NewFileSystem(root *os.Root, dir string, look func(name string)) *FileSystem {
	if look == nil {
		look = func(string) {}
	}
	return &FileSystem{FileSystem: filesys.MakeFsInMemory(),
		disk: &disk{root: root, dir: dir, look: look, resolved: map[string]resolution{}, files: map[string][]byte{}}}
}

// With returns a file system with some files in place of, or beside, the files on disk.
func (f *FileSystem) With(files map[string][]byte) *FileSystem {
	with := &FileSystem{FileSystem: f.FileSystem, disk: f.disk, standIns: maps.Clone(f.standIns),
		folders: maps.Clone(f.folders)}
	if with.standIns == nil {
		with.standIns, with.folders = map[string][]byte{}, map[string]bool{}
	}
	for file, content := range files {
		with.standIns[file] = content
		for dir := path.Dir(file); !with.folders[dir] && dir != "/"; dir = path.Dir(dir) {
			with.folders[dir] = true
		}
	}
	return with
}

// FilesRead returns the files read from disk, sorted, relative to the root.
func (f *FileSystem) FilesRead() []string {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	files := slices.Sorted(maps.Keys(f.disk.files))
	for i, file := range files {
		files[i] = Relative(file)
	}
	return files
}

// KustomizationFile returns the path of the kustomization of a folder, or "".
func (f *FileSystem) KustomizationFile(dir string) string {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if file := path.Join(dir, name); f.Exists(file) {
			return file
		}
	}
	return ""
}

// Resolve follows the links of an absolute path and reports whether it leads to a folder. The error
// wraps fs.ErrNotExist if nothing exists there.
func (f *FileSystem) Resolve(name string) (resolved string, isDir bool, err error) {
	name = path.Clean("/" + filepath.ToSlash(name))
	if _, ok := f.standIns[name]; ok {
		f.disk.look(name)
		return name, false, nil
	}
	if f.folders[name] {
		return name, true, nil
	}
	return f.disk.resolve(name)
}

// ReadFile returns the content of a file. The watchdog names the last one that kustomize reads.
func (f *FileSystem) ReadFile(name string) ([]byte, error) {
	if !strings.Contains(name, "/.gatehouse") { // a file of ours, which nobody can change
		watchdog.Open(Relative(name))
	}
	return f.ReadAny(name)
}

// ReadAny returns the content of any file, which kustomize does not expand.
func (f *FileSystem) ReadAny(name string) ([]byte, error) {
	_, content, err := f.find(name)
	return content, err
}

// find returns the path of a file without links, and its content.
func (f *FileSystem) find(name string) (resolved string, content []byte, err error) {
	resolved, isDir, err := f.Resolve(name)
	if err != nil {
		return "", nil, err
	}
	if isDir {
		return "", nil, fmt.Errorf("read %s: is a folder", Relative(name))
	}
	if content, ok := f.standIns[resolved]; ok {
		return resolved, content, nil
	}
	content, err = f.disk.read(resolved)
	return resolved, content, err
}

// List returns the names in a folder, sorted.
func (f *FileSystem) List(folder string) (names []string, err error) {
	f.disk.look(strings.TrimSuffix(folder, "/") + "/")
	entries, err := os.ReadDir(f.disk.onDisk(folder))
	if err != nil && !f.folders[folder] {
		return nil, readError(folder, err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	for name := range maps.Keys(f.standIns) {
		if below, is := strings.CutPrefix(name, strings.TrimSuffix(folder, "/")+"/"); is {
			first, _, _ := strings.Cut(below, "/")
			names = append(names, first)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// CleanedAbs follows the links of a path and splits it into folder and file. The folder has the
// separators of the operating system, as kustomize compares it with others.
func (f *FileSystem) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	resolved, isDir, err := f.Resolve(name)
	if err != nil {
		return "", "", err
	}
	if isDir {
		return filesys.ConfirmedDir(filepath.FromSlash(resolved)), "", nil
	}
	return filesys.ConfirmedDir(filepath.FromSlash(path.Dir(resolved))), path.Base(resolved), nil
}

// Exists reports whether there is a file or folder, readable or not.
func (f *FileSystem) Exists(name string) bool {
	_, _, err := f.Resolve(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// IsDir reports whether there is a folder.
func (f *FileSystem) IsDir(name string) bool {
	_, isDir, err := f.Resolve(name)
	return err == nil && isDir
}

// Relative returns an absolute path of a FileSystem relative to the root.
func Relative(name string) string {
	return strings.TrimPrefix(name, "/")
}

// disk keeps files and links read from disk.
type disk struct {
	root *os.Root
	dir  string
	look func(name string)

	mu       sync.Mutex
	resolved map[string]resolution
	files    map[string][]byte
}

type resolution struct {
	path  string
	isDir bool
	err   error
}

func (d *disk) resolve(name string) (string, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.resolveLocked(name)
	return r.path, r.isDir, r.err
}

func (d *disk) resolveLocked(name string) resolution {
	r, ok := d.resolved[name]
	if !ok {
		d.look(name)
		r = d.follow(name)
		d.resolved[name] = r
	}
	return r
}

// follow follows the links of a path. The error wraps fs.ErrNotExist only if nothing exists there: a
// broken link exists.
func (d *disk) follow(name string) resolution {
	if name == "/" {
		return resolution{path: name, isDir: true}
	}
	nothing := resolution{err: &fs.PathError{Op: "open", Path: Relative(name), Err: fs.ErrNotExist}}
	folder := d.resolveLocked(path.Dir(name))
	switch {
	case errors.Is(folder.err, fs.ErrNotExist), folder.err == nil && !folder.isDir:
		return nothing
	case folder.err != nil:
		return folder
	case isGitFolder(path.Base(name)):
		return resolution{err: errGit(name)}
	}
	resolved := path.Join(folder.path, path.Base(name))
	info, err := os.Lstat(d.onDisk(resolved))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nothing
	case err != nil:
		return resolution{err: readError(name, err)}
	case info.Mode()&fs.ModeSymlink == 0:
		return resolution{path: resolved, isDir: info.IsDir()}
	}
	return d.followLink(name, resolved)
}

// followLink follows a link whose path has no other links, part by part: each may be a link.
func (d *disk) followLink(name, resolved string) resolution {
	target, err := os.Readlink(d.onDisk(resolved))
	at := resolution{path: path.Dir(resolved), isDir: true}
	if err == nil && filepath.IsAbs(target) {
		at.path = "/"
		target, err = filepath.Rel(d.dir, target)
	}
	if err != nil {
		return resolution{err: readError(name, err)}
	}
	d.resolved[resolved] = resolution{err: readError(name, errors.New("too many links"))} // if it leads here
	defer delete(d.resolved, resolved)
	for part := range strings.SplitSeq(filepath.ToSlash(target), "/") {
		switch {
		case isGitFolder(part):
			return resolution{err: errGit(name)}
		case part == ".." && at.path == "/":
			return resolution{err: errOutside(Relative(name))}
		}
		switch at = d.resolveLocked(path.Join(at.path, part)); {
		case errors.Is(at.err, fs.ErrNotExist):
			return resolution{err: fmt.Errorf("%s is a link to nothing: fix or remove it", Relative(name))}
		case at.err != nil:
			return at
		}
	}
	return at
}

// errOutside reports a path that leads out of the root.
func errOutside(name string) error {
	return fmt.Errorf("%s leads out of the folder that holds environments/: copy the file there and write its path",
		name)
}

// isGitFolder reports whether a name is git's folder, whose configuration often has the token of a CI
// job. Some file systems ignore case.
func isGitFolder(name string) bool { return strings.EqualFold(name, ".git") }

func errGit(name string) error {
	return fmt.Errorf("%s belongs to git, and may have a token: list a committed file", Relative(name))
}

func (d *disk) onDisk(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

// readError returns an error of reading a path, with the path relative to the root.
func readError(name string, err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return fmt.Errorf("read %s: %w", Relative(name), err)
}

// read returns the content of a file. Its path has no links.
func (d *disk) read(resolved string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if content, ok := d.files[resolved]; ok {
		return content, nil
	}
	content, err := regular.ReadFile(d.root, Relative(resolved))
	if err != nil {
		return nil, err
	}
	d.files[resolved] = content
	return content, nil
}
