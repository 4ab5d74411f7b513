package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"example.com/gatehouse/render/tree"
)

// write moves what was staged to where it belongs. The base comes last: until it is there,
// running again completes what was begun.
func (s *stage) write() error {
	var units []string
	if !bytes.Equal(s.attributes, s.files[attributesFile]) {
		units = append(units, attributesFile)
	}
	if s.made.CIFile != "" {
		units = append(units, s.made.CIFile)
	}
	if s.files[gitlabCI] != nil {
		units = append(units, gitlabCI)
	}
	units = append(units, s.path(path.Join(tree.Folder, s.o.Environment)))
	if s.exists(s.path("environments")) {
		units = append(units, s.path(path.Join("environments", s.o.Environment)), s.path("environments/base"))
	} else {
		units = append(units, s.path("environments"))
	}
	for _, unit := range units {
		if err := s.move(unit); err != nil {
			return s.incomplete(unit, err)
		}
		s.made.Files = append(s.made.Files, unit)
	}
	return nil
}

// incomplete is the error of what could not be moved, with what was.
func (s *stage) incomplete(unit string, err error) error {
	if len(s.made.Files) == 0 {
		return fmt.Errorf("nothing was written: %s: %w", unit, plainError(err))
	}
	return fmt.Errorf("%s: %w\n%s written: mend that, and run this again to complete it", unit, plainError(err), strings.Join(s.made.Files, ", "))
}

// move moves a file or a folder. Of a folder that is there it moves what is in it; a file
// that is there is as it is to be, but for attributes.
func (s *stage) move(name string) error {
	if !s.exists(name) || name == attributesFile {
		if err := s.root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		return s.root.Rename(s.staged(name), name)
	}
	if _, isFile := s.files[name]; isFile {
		return nil
	}
	entries, err := fs.ReadDir(s.root.FS(), s.staged(name))
	errs := []error{err}
	for _, entry := range entries {
		errs = append(errs, s.move(path.Join(name, entry.Name())))
	}
	return errors.Join(errs...)
}
