package tree

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
)

// change is a change of one file that is ready to be made.
type change struct {
	File
	staged string // the temporary file that replaces it; empty if the file is removed
}

// temporary matches the names of staged files.
var temporary = regexp.MustCompile(`^\.render-[A-Z2-7]{26}$`)

// stage writes the new content of a file to a temporary file beside it, in the folder that holds it, so
// that an error shows before any file is replaced.
func (f *folder) stage(holder *os.Root, file File) (change, error) {
	name, err := writeTemporary(holder, file.Content)
	if err != nil {
		return change{File: file}, f.failure("write", file.Path, err)
	}
	return change{file, path.Join(path.Dir(file.Path), name)}, nil
}

// try returns an error if a file cannot be removed from the folder that holds it.
func (f *folder) try(holder *os.Root, name string) error {
	temporary, err := writeTemporary(holder, nil)
	if err == nil {
		err = holder.Remove(temporary)
	}
	return f.failure("remove", name, err)
}

func writeTemporary(holder *os.Root, content []byte) (name string, err error) {
	if holder == nil {
		return "", fs.ErrNotExist
	}
	name = ".render-" + rand.Text()
	if err = holder.WriteFile(name, content, 0o644); err != nil {
		_ = holder.Remove(name)
	}
	return name, err
}

// discard removes what was staged.
func (f *folder) discard(c change) {
	if c.staged != "" {
		_ = f.dir.Remove(c.staged)
	}
}

// commit makes a change, at once.
func (f *folder) commit(c change) error {
	if c.staged == "" {
		return f.remove(c.Path)
	}
	return f.failure("write", c.Path, f.dir.Rename(c.staged, c.Path))
}

// remove removes a file, and its folder if that is empty then.
func (f *folder) remove(name string) error {
	if err := f.dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.failure("remove", name, err)
	}
	_ = f.root.Remove(f.full(path.Dir(name)))
	return nil
}

// failure returns the error of a change. It names the file, not the temporary one.
func (f *folder) failure(verb, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", verb, f.full(name), cmp.Or(errors.Unwrap(err), err))
}

// makeFolders makes the folders of files that there are not yet, and records which it made.
func (f *folder) makeFolders(files []File) error {
	exists := map[string]bool{}
	for _, file := range files {
		dir := f.full(path.Dir(file.Path))
		for i, c := range dir + "/" {
			if c != '/' || exists[dir[:i]] {
				continue
			}
			switch err := f.root.Mkdir(dir[:i], 0o755); {
			case err == nil:
				f.made = append(f.made, dir[:i])
			case !errors.Is(err, fs.ErrExist):
				return f.failure("write", file.Path, err)
			}
			exists[dir[:i]] = true
		}
	}
	if f.dir != nil {
		return nil
	}
	var err error
	f.dir, err = f.root.OpenRoot(f.path)
	return err
}

// removeMade removes those of the folders that were made which are empty.
func (f *folder) removeMade() {
	for _, dir := range slices.Backward(f.made) {
		_ = f.root.Remove(dir)
	}
}

// clean removes the temporary files of runs that were killed. The caller holds the lock since before
// the folder was opened, so nobody else is writing.
func (f *folder) clean() {
	for _, found := range f.found {
		if found.isRegular && temporary.MatchString(path.Base(found.path)) {
			_ = f.dir.Remove(found.path)
			_ = f.dir.Remove(path.Dir(found.path)) // if it is empty, and not the folder itself
		}
	}
}
