package setup

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/regular"
	"example.com/gatehouse/render/settings"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/warn"
)

func (p *target) plan(ctx context.Context, o Options, image string) (made *Result, err error) {
	made = &Result{files: map[string][]byte{}}
	if o.From == "" && o.Environment == "" {
		p.planSettings(o, made)
		err := p.planCI(ctx, o, made, len(made.files) > 0)
		if err == nil && len(made.files) == 0 {
			err = errors.New("no file is missing: pass --from or --env to create an environment")
		}
		return made, err
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
	errCI := p.planCI(ctx, o, made, o.From != "" || hasBase)
	attributes, err := regular.ReadReal(p.root, p.attributes())
	if changed := addAttributes(attributes); err == nil && !bytes.Equal(attributes, changed) {
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
	return made, errors.Join(errCI, err)
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

// planSettings adds the settings with the version of Kubernetes of the clusters that the repository has.
func (p *target) planSettings(o Options, made *Result) {
	if o.Kubernetes == "" {
		return
	}
	var s strings.Builder
	s.WriteString("# What no other file of this repository says about its clusters. docs/validation.md of Gatehouse " +
		"has all fields.\n")
	if len(o.Entries) == 0 {
		fmt.Fprintf(&s, "all:\n  kubernetes: %q\n", o.Kubernetes)
	} else {
		s.WriteString("entries:\n")
	}
	for _, name := range o.Entries {
		fmt.Fprintf(&s, "- name: %s\n  kubernetes: %q\n", manifest.Scalar(name), o.Kubernetes)
	}
	name := path.Join(p.prefix, settings.File)
	made.files[name] = []byte(s.String())
	made.Files = append(made.Files, name)
}

// planCI adds the CI files. With --from or another environment they may exist already.
func (p *target) planCI(ctx context.Context, o Options, made *Result, mayExist bool) error {
	ci := cmp.Or(o.CI, p.ciHost(ctx))
	if ci == NoCI {
		return nil
	}
	name, content := ciFile(ci, p.git.DefaultBranch(ctx), p.prefix)
	if mayExist && p.exists(name) {
		return nil
	}
	existing, err := regular.ReadReal(p.root, name)
	if err != nil || o.Environment != "" && string(existing) == content {
		return err
	}
	made.CIFile = name
	made.Placeholders = placeholders(content)
	made.files[name] = []byte(content)
	made.Files = append(made.Files, name)
	if ci != gitlab {
		return nil
	}
	own, err := regular.ReadReal(p.root, gitlabCI)
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

// checkNew returns an error that lists links on the way to the new files, and existing files and folders among them.
func (p *target) checkNew(made *Result) error {
	var wrong, found []string
	for _, name := range made.Files {
		switch info, err := regular.Real(p.root, name); {
		case err != nil && !slices.Contains(wrong, err.Error()):
			wrong = append(wrong, err.Error())
		case info != nil && name != p.attributes():
			found = append(found, name)
		}
	}
	if len(found) > 0 {
		wrong = append(wrong, "these files exist already:", strings.Join(found, "\n"), p.hint(made, found))
	}
	if len(wrong) == 0 {
		return nil
	}
	return errors.New(strings.Join(wrong, "\n"))
}

// hint returns the way around files that exist already.
func (p *target) hint(made *Result, found []string) string {
	switch {
	case len(made.adoptions) > 0:
		return "pass another name by --env, which begins the names of several environments"
	case p.exists(path.Join(p.base(), "gatehouse")):
		return "to add an environment, pass another name by --env"
	case slices.Contains(found, path.Join(p.prefix, settings.File)):
		return "write kubernetes there"
	case len(made.files) == 1 && len(made.Rendered) == 0:
		return "pass --from or --env to create an environment"
	case len(found) == 1 && found[0] == made.CIFile:
		return "move it away, or use --ci none"
	}
	return "move them away, or run this in another folder"
}

// write writes the new files, renders the environment, and updates .gitattributes last.
func (p *target) write(ctx context.Context, o Options, made *Result) (err error) {
	for _, name := range slices.Sorted(maps.Keys(made.files)) {
		if err := regular.ReplaceFile(p.root, name, made.files[name]); err != nil {
			return err
		}
	}
	if len(made.Rendered) == 0 {
		return nil
	}
	repository, err := render.Open(filepath.Join(p.top, filepath.FromSlash(p.prefix)), o.Kinds,
		render.Options{Now: o.Now})
	if err != nil {
		return err
	}
	defer repository.Close()
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
