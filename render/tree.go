package render

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// maxFileSize bounds what is read of one file, in bytes.
const maxFileSize = 64 << 20

// errReadOnly is what kustomize gets for anything but reading.
var errReadOnly = errors.New("the file system of a build is read-only")

// tree is the file system that kustomize builds from. Its root, "/", is the
// folder that holds environments/: what is outside does not exist for it, and no
// link leads there.
type tree struct {
	// dir is the folder's path on disk, without links.
	dir  string
	disk *os.Root

	// stand has files that stand in for those on disk, or beside them.
	stand map[string][]byte

	// read has every file that was read, in no order.
	read map[string]bool
}

// openTree opens the folder dir. Close its disk after use.
func openTree(dir string) (*tree, error) {
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	if resolved, err = filepath.Abs(resolved); err != nil {
		return nil, err
	}
	disk, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, err
	}
	return (&tree{dir: resolved, disk: disk}).fresh(), nil
}

// fresh is the tree as it is on disk, nothing standing in it.
func (t *tree) fresh() *tree {
	return &tree{dir: t.dir, disk: t.disk, stand: map[string][]byte{}, read: map[string]bool{}}
}

// kustomizationFile is the kustomization of a folder, or "" where there is none.
func (t *tree) kustomizationFile(dir string) string {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if file := path.Join(dir, name); t.Exists(file) {
			return file
		}
	}
	return ""
}

// isBuildable says whether a folder has a kustomization that is not a component.
func (t *tree) isBuildable(dir string) bool {
	content, err := t.ReadFile(t.kustomizationFile(dir))
	if err != nil {
		return false
	}
	var kustomization types.TypeMeta
	_ = yaml.Unmarshal(content, &kustomization) // what is malformed fails when it is built
	return kustomization.Kind != types.ComponentKind
}

// with has a file stand in the tree.
func (t *tree) with(file string, content []byte) {
	t.stand[file] = content
}

// resolve follows the links of an absolute path of the tree and says whether it
// is a folder. The error wraps fs.ErrNotExist where there is nothing.
func (t *tree) resolve(name string) (resolvedPath string, isDir bool, err error) {
	name = path.Clean("/" + filepath.ToSlash(name))
	if _, ok := t.stand[name]; ok {
		return name, false, nil
	}
	for file := range t.stand {
		if strings.HasPrefix(file, name+"/") {
			return name, true, nil
		}
	}
	resolved, err := filepath.EvalSymlinks(filepath.Join(t.dir, name))
	if err != nil {
		return "", false, &fs.PathError{Op: "open", Path: relative(name), Err: fs.ErrNotExist}
	}
	inside, err := filepath.Rel(t.dir, resolved)
	if err != nil || !filepath.IsLocal(inside) {
		return "", false, fmt.Errorf("%s is a link that leads out of the folder that holds environments/", relative(name))
	}
	info, err := t.disk.Stat(inside)
	if err != nil {
		return "", false, err
	}
	return path.Clean("/" + filepath.ToSlash(inside)), info.IsDir(), nil
}

// ReadFile returns the content of a file.
func (t *tree) ReadFile(name string) ([]byte, error) {
	resolved, isDir, err := t.resolve(name)
	if err != nil {
		return nil, err
	}
	if isDir {
		return nil, fmt.Errorf("read %s: is a folder", relative(name))
	}
	t.read[resolved] = true
	if content, ok := t.stand[resolved]; ok {
		return content, nil
	}
	return t.onDisk(resolved)
}

// onDisk returns the content of a file as people wrote it.
func (t *tree) onDisk(resolved string) ([]byte, error) {
	file, err := t.disk.Open(relative(resolved))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFileSize+1))
	if err == nil && len(content) > maxFileSize {
		err = fmt.Errorf("read %s: over %d MiB", relative(resolved), maxFileSize>>20)
	}
	return content, err
}

// CleanedAbs splits a path, its links followed, into folder and file.
func (t *tree) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	resolved, isDir, err := t.resolve(name)
	if err != nil {
		return "", "", err
	}
	if isDir {
		return filesys.ConfirmedDir(resolved), "", nil
	}
	return filesys.ConfirmedDir(path.Dir(resolved)), path.Base(resolved), nil
}

// Exists says whether there is a file or folder.
func (t *tree) Exists(name string) bool {
	_, _, err := t.resolve(name)
	return err == nil
}

// IsDir says whether there is a folder.
func (t *tree) IsDir(name string) bool {
	_, isDir, err := t.resolve(name)
	return err == nil && isDir
}

// A build from a kustomization neither lists folders nor writes.

func (t *tree) Create(string) (filesys.File, error)  { return nil, errReadOnly }
func (t *tree) Mkdir(string) error                   { return errReadOnly }
func (t *tree) MkdirAll(string) error                { return errReadOnly }
func (t *tree) RemoveAll(string) error               { return errReadOnly }
func (t *tree) WriteFile(string, []byte) error       { return errReadOnly }
func (t *tree) Open(string) (filesys.File, error)    { return nil, errReadOnly }
func (t *tree) ReadDir(string) ([]string, error)     { return nil, errReadOnly }
func (t *tree) Glob(string) ([]string, error)        { return nil, errReadOnly }
func (t *tree) Walk(string, filepath.WalkFunc) error { return errReadOnly }

// relative is an absolute path of a tree as people write it.
func relative(name string) string {
	return strings.TrimPrefix(name, "/")
}
