package tree

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// change is a change of one file that is ready to be made.
type change struct {
	name   string
	staged string // the temporary file that replaces it; empty if the file is removed
}

// temporary matches the names of staged files.
var temporary = regexp.MustCompile(`^\.render-[A-Z2-7]{26}$`)

// stage writes the new content of a file to a temporary file beside it, so that an error shows
// before any file is replaced.
func (f *folder) stage(name string, content []byte) (change, error) {
	c := change{name: name, staged: ".render-" + rand.Text()}
	dir, err := f.make(name)
	if err == nil {
		err = dir.WriteFile(c.staged, content, 0o644)
	}
	if err != nil {
		f.discard(c)
	}
	return c, f.failure("write", name, err)
}

// try returns an error if files in the folder of a file cannot be removed.
func (f *folder) try(name string) error {
	c, err := f.stage(name, nil)
	f.discard(c)
	if err != nil {
		return f.failure("remove", name, errors.Unwrap(err))
	}
	return nil
}

// discard removes what was staged.
func (f *folder) discard(c change) {
	if dir, _ := f.open(c.name); dir != nil && c.staged != "" {
		_ = dir.Remove(c.staged)
	}
}

// commit makes a change, at once.
func (f *folder) commit(c change) error {
	if c.staged == "" {
		return f.remove(c.name)
	}
	dir, err := f.open(c.name)
	if err == nil {
		err = dir.Rename(c.staged, path.Base(c.name))
	}
	return f.failure("write", c.name, err)
}

// remove removes a file, and its folder if that is empty then.
func (f *folder) remove(name string) error {
	dir, err := f.open(name)
	if dir != nil {
		err = dir.Remove(path.Base(name))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.failure("remove", name, err)
	}
	f.removeEmpty(f.full(path.Dir(name)))
	return nil
}

// failure returns the error of a change. It names the file, not the temporary one.
func (f *folder) failure(verb, name string, err error) error {
	var ofPath *fs.PathError
	var ofLink *os.LinkError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ofPath):
		err = ofPath.Err
	case errors.As(err, &ofLink):
		err = ofLink.Err
	}
	return fmt.Errorf("%s %s: %w", verb, f.full(name), err)
}

// removeEmpty removes a folder unless it holds anything.
func (f *folder) removeEmpty(dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.root.Remove(dir) == nil {
		f.subs[dir].close()
		delete(f.subs, dir)
	}
}

// removeMade removes those of the folders that were made which are empty.
func (f *folder) removeMade() {
	for _, dir := range slices.Backward(f.made) {
		f.removeEmpty(dir)
	}
}

// clean removes the temporary files of runs that were killed. It skips a folder that it cannot
// read, as that is somebody else's. The caller holds the lock, so nobody else is writing.
func (f *folder) clean() {
	for _, entry := range f.entries(IndexFile) {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			f.cleanBeside(path.Join(entry.Name(), IndexFile))
		}
	}
	f.cleanBeside(IndexFile)
}

// cleanBeside removes the temporary files beside a file.
func (f *folder) cleanBeside(name string) {
	for _, entry := range f.entries(name) {
		if entry.Type().IsRegular() && temporary.MatchString(entry.Name()) {
			_ = f.remove(path.Join(path.Dir(name), entry.Name()))
		}
	}
}

// entries returns the entries of the folder of a file.
func (f *folder) entries(name string) []fs.DirEntry {
	dir, err := f.open(name)
	if dir == nil || err != nil {
		return nil
	}
	entries, _ := fs.ReadDir(dir.FS(), ".")
	return entries
}
