package setup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/regular"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/warn"
)

// plan returns what to make.
func (p *place) plan(ctx context.Context, o Options, image string) (*Made, error) {
	made := &Made{Rendered: path.Join(p.prefix, tree.Folder, o.Environment), files: map[string][]byte{}}
	overlay, err := p.overlay(o)
	if err != nil {
		return nil, err
	}
	environments, err := environmentFiles(o, image, overlay)
	if err != nil {
		return nil, err
	}
	for name, content := range environments {
		made.files[path.Join(p.prefix, tree.EnvironmentsFolder, name)] = content
	}
	if overlay == "" && cmp.Or(o.Image, Image, warn.LocalImage) == warn.LocalImage {
		made.Base = path.Join(p.base(), "kustomization.yaml")
	}
	if err := p.planCI(ctx, o, made); err != nil {
		return nil, err
	}
	attributes, err := p.read(p.attributes())
	if err != nil {
		return nil, err
	}
	if changed := withAttributes(attributes); !bytes.Equal(attributes, changed) {
		made.attributes = changed
		if len(attributes) > 0 {
			made.Appended = p.attributes()
		}
		made.Files = append(made.Files, p.attributes())
	}
	made.Files = append(made.Files, path.Join(p.prefix, tree.EnvironmentsFolder, o.Environment), made.Rendered)
	if overlay == "" {
		made.Files = append(made.Files, p.base())
	}
	return made, nil
}

// planCI adds the files for CI, which an environment that lists an overlay may find there.
func (p *place) planCI(ctx context.Context, o Options, made *Made) error {
	ci := cmp.Or(o.CI, p.ciHost(ctx))
	if ci == noCI {
		return nil
	}
	name, content := ciFile(ci, p.git.DefaultBranch(ctx), p.prefix)
	if o.From != "" && p.exists(name) {
		return nil
	}
	made.CIFile, made.ToSet, made.files[name] = name, toSet(content), []byte(content)
	made.Files = append(made.Files, name)
	if ci != gitlab {
		return nil
	}
	own, err := p.read(gitlabCI)
	switch {
	case err != nil:
		return err
	case own == nil:
		made.files[gitlabCI] = []byte(gitlabInclude)
		made.Files = append(made.Files, gitlabCI)
	case !bytes.Contains(own, []byte(name)):
		made.Include = gitlabCI
	}
	return nil
}

// base returns the folder that environments build on.
func (p *place) base() string { return path.Join(p.prefix, "environments/base") }

// attributes returns the .gitattributes for the folder.
func (p *place) attributes() string { return path.Join(p.prefix, attributesFile) }

// read returns the content of a file, nil where there is none.
func (p *place) read(name string) ([]byte, error) {
	content, err := regular.ReadFile(p.root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

// checkFree returns an error with all files and folders that exist and that Init is to make.
func (p *place) checkFree(made *Made) error {
	var found []string
	for _, name := range made.Files {
		if name != p.attributes() && p.exists(name) {
			found = append(found, name)
		}
	}
	hint := "move away what is yours, or run this in another folder"
	switch {
	case len(found) == 0:
		return nil
	case p.exists(p.base()):
		hint = fmt.Sprintf("for one more environment make a folder of %s with a kustomization.yaml that lists ../base", path.Dir(p.base()))
	case len(found) == 1 && found[0] == made.CIFile:
		hint = "move it away, or write --ci none"
	}
	return fmt.Errorf("these exist:\n%s\n%s", strings.Join(found, "\n"), hint)
}

// write writes the files, which do not exist, renders them, and adds a line to .gitattributes last.
func (p *place) write(ctx context.Context, o Options, made *Made) (err error) {
	for _, name := range slices.Sorted(maps.Keys(made.files)) {
		err := p.root.MkdirAll(path.Dir(name), 0o755)
		if err == nil {
			err = p.root.WriteFile(name, made.files[name], 0o644)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	if made.Warnings, err = p.render(ctx, o); err != nil {
		return err
	}
	if err = ctx.Err(); err == nil && made.attributes != nil {
		err = replaceFile(p.root, p.attributes(), made.attributes)
	}
	return err
}

// render renders the environment, and returns warnings.
func (p *place) render(ctx context.Context, o Options) ([]manifest.Problem, error) {
	repository, err := render.Open(filepath.Join(p.top, filepath.FromSlash(p.prefix)), o.Kinds)
	if err != nil {
		return nil, err
	}
	defer repository.Close()
	repository.Now = o.Now
	update, err := render.NewUpdate(ctx, repository, render.Selection{Names: []string{o.Environment}}, func(string, string) {})
	if err != nil {
		return nil, err
	}
	defer update.Close()
	wrong, warnings := manifest.SplitProblems(update.Environments[0].Problems)
	if update.Failed() {
		var errs []error
		for _, problem := range wrong {
			errs = append(errs, errors.New(problem.String()))
		}
		return nil, errors.Join(errs...)
	}
	if err := update.Stage(ctx); err != nil {
		return nil, err
	}
	return warnings, update.Commit()
}

// remove removes what write wrote, which all was not there before, and the folders above that are empty
// then.
func (p *place) remove(made *Made) {
	for _, name := range made.Files {
		if name == p.attributes() {
			continue
		}
		_ = p.root.RemoveAll(name)
		dir := path.Dir(name)
		for dir != "." && dir != p.prefix && p.root.Remove(dir) == nil {
			dir = path.Dir(dir)
		}
	}
}
