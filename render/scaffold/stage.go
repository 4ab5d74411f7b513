package scaffold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/regular"
	"example.com/gatehouse/render/tree"
)

// stageFolder is the folder, beside environments/, in which all is made before any of it is
// moved to where it belongs. One that is there is of a run that was killed.
const stageFolder = ".render-init"

// stage is what is to be moved.
type stage struct {
	*place
	folder     string // of the stage, from the top
	files      map[string][]byte
	attributes []byte // as they are; nil where there are none
	o          Options
	made       *Made
}

const attributesFile = ".gitattributes"

// stage makes all files beside where they belong, and renders them there.
func (p *place) stage(ctx context.Context, o Options, image image) (*stage, error) {
	s := &stage{place: p, folder: p.path(stageFolder), o: o, files: map[string][]byte{}, made: &Made{Prefix: p.prefix, CI: o.CI}}
	if err := p.root.RemoveAll(s.folder); err != nil {
		return nil, plainError(err)
	}
	if err := s.collect(ctx, image); err != nil {
		return nil, err
	}
	err := s.put()
	if err == nil {
		err = s.render(ctx)
	}
	if err != nil {
		s.discard()
		return nil, err
	}
	return s, nil
}

// collect says which files there are to be, but for what is rendered.
func (s *stage) collect(ctx context.Context, image image) error {
	made, err := environments(s.o, image)
	if err != nil {
		return err
	}
	for name, content := range made {
		s.files[s.path(path.Join("environments", name))] = content
	}
	if name, content := ciFile(s.o.CI, s.git.DefaultBranch(ctx), s.prefix); name != "" {
		s.files[name], s.made.CIFile = []byte(content), name
	}
	if s.o.CI == gitlab {
		switch content, err := regular.ReadFile(s.root, gitlabCI); {
		case errors.Is(err, fs.ErrNotExist):
			s.files[gitlabCI] = []byte(gitlabInclude)
		case err != nil:
			return plainError(err)
		case !bytes.Contains(content, []byte(s.made.CIFile)):
			s.made.Include = gitlabCI
		}
	}
	if s.attributes, err = regular.ReadFile(s.root, attributesFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return plainError(err)
	}
	s.files[attributesFile] = withAttributes(s.attributes, s.prefix)
	return nil
}

// put writes the files to the stage: those of the folder as a repository of its own.
func (s *stage) put() error {
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		staged := s.staged(name)
		err := s.root.MkdirAll(path.Dir(staged), 0o755)
		if err == nil {
			err = s.root.WriteFile(staged, s.files[name], 0o644)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", name, plainError(err))
		}
	}
	return nil
}

// staged is where on the stage a file is.
func (s *stage) staged(name string) string {
	within, isWithin := strings.CutPrefix("/"+name, strings.TrimSuffix("/"+s.prefix, "/")+"/")
	if first, _, _ := strings.Cut(within, "/"); isWithin && (first == "environments" || first == tree.Folder) {
		return path.Join(s.folder, within)
	}
	return path.Join(s.folder, "top", name)
}

// render renders the environment on the stage.
func (s *stage) render(ctx context.Context) error {
	repository, err := render.Open(filepath.Join(s.top, filepath.FromSlash(s.folder)), s.o.Kinds)
	if err != nil {
		return err
	}
	defer repository.Close()
	repository.Now = s.o.Now
	update, err := render.NewUpdate(ctx, repository, render.Selection{Names: []string{s.o.Environment}}, func(string, string) {})
	if err != nil {
		return err
	}
	defer update.Close()
	wrong, warnings := object.SplitProblems(update.Environments[0].Problems)
	if update.Failed() {
		return errors.New(wrong[0].String())
	}
	s.made.Warnings = warnings
	if err = update.Stage(ctx); err == nil {
		err = update.Commit()
	}
	if err != nil {
		return err
	}
	return fs.WalkDir(s.root.FS(), path.Join(s.folder, tree.Folder), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := s.root.ReadFile(name)
		s.files[s.path(strings.TrimPrefix(name, s.folder+"/"))] = content
		return err
	})
}

// inTheWay is the error of all that is where files are to be. What a run that was killed
// left is not: without a base, files that are as they are to be.
func (s *stage) inTheWay() error {
	_, err := s.root.Lstat(s.path("environments/base/kustomization.yaml"))
	isMade := err == nil
	found := map[string]bool{}
	for name, content := range s.files {
		if at := s.blocker(name, content, isMade); at != "" {
			found[at] = true
		}
		if path.Base(name) != konfig.DefaultKustomizationFileName() {
			continue
		}
		for _, other := range konfig.RecognizedKustomizationFileNames()[1:] {
			if at := path.Join(path.Dir(name), other); s.exists(at) {
				found[at] = true
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	hint := "move away what is yours, or run this in another folder"
	switch {
	case isMade:
		hint = fmt.Sprintf("for one more environment make a folder of %s with a kustomization.yaml that lists ../base", s.path("environments"))
	case found[s.made.CIFile] && len(found) == 1:
		hint = "move it away, or write --ci none"
	}
	return fmt.Errorf("nothing was written, as there are files in the way:\n%s\n%s", strings.Join(slices.Sorted(maps.Keys(found)), "\n"), hint)
}

// blocker is what is in the way of a file: it, or what is not a folder that should hold it.
func (s *stage) blocker(name string, content []byte, isMade bool) string {
	for i, c := range name {
		if c != '/' {
			continue
		}
		switch info, err := s.root.Lstat(name[:i]); {
		case errors.Is(err, fs.ErrNotExist):
			return ""
		case err != nil || !info.IsDir():
			return name[:i] // a link is not a folder
		}
	}
	info, err := s.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err == nil && info.Mode().IsRegular() && name == attributesFile:
		return ""
	case err == nil && info.Mode().IsRegular() && !isMade:
		if is, err := regular.ReadFile(s.root, name); err == nil && bytes.Equal(is, content) {
			return ""
		}
	}
	return name
}

func (s *stage) exists(name string) bool {
	_, err := s.root.Lstat(name)
	return err == nil
}

// discard removes the stage.
func (s *stage) discard() { _ = s.root.RemoveAll(s.folder) }

// plainError is an error without the name of the operation.
func plainError(err error) error {
	var ofPath *fs.PathError
	var ofLink *os.LinkError
	switch {
	case errors.As(err, &ofPath):
		return fmt.Errorf("%s: %w", ofPath.Path, ofPath.Err)
	case errors.As(err, &ofLink):
		return fmt.Errorf("%s: %w", ofLink.New, ofLink.Err)
	}
	return err
}
