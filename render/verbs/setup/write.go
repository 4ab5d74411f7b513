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
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/warn"
)

func (p *target) plan(ctx context.Context, o Options, image string) (made *Result, err error) {
	made = &Result{files: map[string][]byte{}}
	if o.From == "" && o.Environment == "" {
		return made, p.planCI(ctx, o, made, false)
	}
	names := []string{o.Environment}
	hasBase := p.exists(path.Join(p.base(), "gatehouse"))
	if o.From != "" {
		names, err = p.planAdoptions(o, made)
	} else {
		err = p.planEnvironment(o, image, hasBase, made)
	}
	if err != nil {
		return nil, err
	}
	if err := p.planCI(ctx, o, made, o.From != "" || hasBase); err != nil {
		return nil, err
	}
	attributes, err := p.readFile(p.attributes())
	if err != nil {
		return nil, err
	}
	if changed := addAttributes(attributes); !bytes.Equal(attributes, changed) {
		made.attributes = changed
		if len(attributes) > 0 {
			made.Appended = p.attributes()
		}
		made.Files = append(made.Files, p.attributes())
	}
	for _, name := range names {
		made.Rendered = append(made.Rendered, path.Join(p.prefix, tree.Folder, name))
		made.Files = append(made.Files, path.Join(p.prefix, tree.EnvironmentsFolder, name),
			path.Join(p.prefix, tree.Folder, name))
	}
	if o.From == "" && !hasBase {
		made.Files = append(made.Files, p.base())
	}
	return made, nil
}

// planAdoptions adds the files of environments from overlays, and returns their names.
func (p *target) planAdoptions(o Options, made *Result) (names []string, err error) {
	err = p.readFrom(o, made)
	for _, a := range made.adoptions {
		names = append(names, a.environment)
		made.files[source.Relative(path.Join(a.folder, "kustomization.yaml"))] = a.form
		if a.values != nil {
			made.files[source.Relative(path.Join(a.folder, valuesFile))] = a.values
		}
	}
	return names, err
}

// planEnvironment adds the files of an environment and, unless it exists, of its base.
func (p *target) planEnvironment(o Options, image string, hasBase bool, made *Result) error {
	if hasBase && o.Image != "" {
		return fmt.Errorf("--image: %s exists: set the image there", p.base())
	}
	files, err := environmentFiles(o, image)
	for name, content := range files {
		if !hasBase || !strings.HasPrefix(name, "base/") {
			made.files[path.Join(p.prefix, tree.EnvironmentsFolder, name)] = content
		}
	}
	if !hasBase && cmp.Or(o.Image, Image, warn.LocalImage) == warn.LocalImage {
		made.Base = path.Join(p.base(), "kustomization.yaml")
	}
	return err
}

// planCI adds the CI files. With --from or another environment they may exist already.
func (p *target) planCI(ctx context.Context, o Options, made *Result, mayExist bool) error {
	ci := cmp.Or(o.CI, p.ciHost(ctx))
	if ci == noCI {
		return nil
	}
	name, content := ciFile(ci, p.git.DefaultBranch(ctx), p.prefix)
	existing, err := p.readFile(name)
	isOurs := o.Environment != "" && string(existing) == content
	if isOurs || mayExist && p.exists(name) {
		return err
	}
	made.CIFile, made.Placeholders, made.files[name] = name, placeholders(content), []byte(content)
	made.Files = append(made.Files, name)
	if ci != gitlab {
		return nil
	}
	own, err := p.readFile(gitlabCI)
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

func (p *target) base() string { return path.Join(p.prefix, "environments/base") }

func (p *target) attributes() string { return path.Join(p.prefix, attributesFile) }

// readFile returns the content of a file, or nil if it does not exist.
func (p *target) readFile(name string) ([]byte, error) {
	content, err := regular.ReadFile(p.root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

// checkNew returns an error that lists existing files and folders among the new ones.
func (p *target) checkNew(made *Result) error {
	var found []string
	for _, name := range made.Files {
		if name != p.attributes() && p.exists(name) {
			found = append(found, name)
		}
	}
	hint := "move them away, or run this in another folder"
	switch {
	case len(found) == 0:
		return nil
	case len(made.adoptions) > 0:
		hint = "pass another name by --env, which begins the names of several environments"
	case p.exists(path.Join(p.base(), "gatehouse")):
		hint = "to add an environment, pass another name by --env"
	case len(made.files) == 1 && len(made.Rendered) == 0:
		hint = "pass --from or --env to create an environment"
	case len(found) == 1 && found[0] == made.CIFile:
		hint = "move it away, or use --ci none"
	}
	return fmt.Errorf("these files exist already:\n%s\n%s", strings.Join(found, "\n"), hint)
}

// write writes the new files, renders the environment, and updates .gitattributes last.
func (p *target) write(ctx context.Context, o Options, made *Result) (err error) {
	for _, name := range slices.Sorted(maps.Keys(made.files)) {
		err := p.root.MkdirAll(path.Dir(name), 0o755)
		if err == nil {
			err = p.root.WriteFile(name, made.files[name], 0o644)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	repository, err := render.Open(filepath.Join(p.top, filepath.FromSlash(p.prefix)), o.Kinds)
	if err != nil {
		return err
	}
	defer repository.Close()
	repository.Now = o.Now
	if o.Environment != "" && o.From == "" {
		if made.Problems, err = p.render(ctx, repository, o.Environment); err == nil {
			err = asError(made.Problems)
		}
	}
	for _, a := range made.adoptions {
		if err == nil {
			err = p.renderAdoption(ctx, repository, a, made)
		}
	}
	if err != nil {
		return err
	}
	if len(made.idle) > 0 {
		made.Problems = append(made.Problems, manifest.Problem{Code: manifest.NotAdopted, Warning: true, File: o.From,
			Message: "patches that select nothing are left out of the environments " + manifest.FirstOf(3, made.idle) +
				": write them there once there is an object to patch"})
	}
	if made.Delivery, err = encode(made.objects); err != nil {
		return err
	}
	if err = ctx.Err(); err == nil && made.attributes != nil {
		err = regular.ReplaceFile(p.root, p.attributes(), made.attributes)
	}
	return err
}

// render renders an environment, and writes it unless a problem is an error.
func (p *target) render(ctx context.Context, repository *render.Repository, name string) ([]manifest.Problem, error) {
	return render.UpdateOne(ctx, repository, name, func(string) {},
		func(e render.TreeUpdate) ([]manifest.Problem, error) {
			if err := e.Plan.Stage(ctx); err != nil {
				return nil, err
			}
			return e.Problems, e.Plan.Commit()
		})
}

func asError(problems []manifest.Problem) error {
	wrong, _ := manifest.SplitProblems(problems)
	errs := make([]error, 0, len(wrong))
	for _, problem := range wrong {
		errs = append(errs, errors.New(problem.String()))
	}
	return errors.Join(errs...)
}

// remove removes the new files and the folders above them, if empty.
func (p *target) remove(made *Result) {
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
