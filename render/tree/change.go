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

// change is a staged change of one file.
type change struct {
	File
	staged string // the temporary file that replaces it; empty if the file is removed
}

// temporary matches the names of staged files.
var temporary = regexp.MustCompile(`^\.render-[A-Z2-7]{26}$`)

// stage writes the new content of a file to a temporary file beside it. If the file is to be removed,
// stage only tests that its folder is writable. An error shows before any file is replaced.
func (f *folder) stage(holder *os.Root, file File) (change, error) {
	if holder == nil {
		return change{}, f.failure(file, fs.ErrNotExist)
	}
	name := ".render-" + rand.Text()
	err := holder.WriteFile(name, file.Content, 0o644)
	if err == nil && file.Content != nil {
		return change{file, path.Join(path.Dir(file.Path), name)}, nil
	}
	return change{File: file}, f.failure(file, cmp.Or(err, holder.Remove(name)))
}

func (f *folder) discard(c change) {
	if c.staged != "" {
		_ = f.dir.Remove(c.staged)
	}
}

func (f *folder) commit(c change) error {
	if c.staged != "" {
		return f.failure(c.File, f.dir.Rename(c.staged, c.Path))
	}
	if err := f.dir.Remove(c.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.failure(c.File, err)
	}
	f.removeEmpty(path.Dir(f.full(c.Path)))
	return nil
}

// removeEmpty removes a folder, and the folders around it in f, as far as they are empty.
func (f *folder) removeEmpty(dir string) {
	for f.root.Remove(dir) == nil && dir != f.path {
		dir = path.Dir(dir)
	}
}

// failure returns the error of a change, naming the file instead of the temporary one.
func (f *folder) failure(file File, err error) error {
	verb := "write"
	switch {
	case err == nil:
		return nil
	case file.Content == nil:
		verb = "remove"
	}
	return fmt.Errorf("%s %s: %w", verb, f.full(file.Path), cmp.Or(errors.Unwrap(err), err))
}

// makeFolders makes and records the missing folders of files.
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
				return f.failure(file, err)
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

func (f *folder) removeMade() {
	for _, dir := range slices.Backward(f.made) {
		_ = f.root.Remove(dir)
	}
}

// clean removes the temporary files of killed runs. The caller must have held the lock since before the
// folder was opened, so that no other run is writing.
func (f *folder) clean() {
	for _, e := range f.entries {
		if e.isRegular && temporary.MatchString(path.Base(e.path)) {
			_ = f.dir.Remove(e.path)
			_ = f.dir.Remove(path.Dir(e.path)) // if it is empty, and not the folder itself
		}
	}
}
