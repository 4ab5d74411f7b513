package setup

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/diff"
)

// adoption is an environment to create from an overlay.
type adoption struct {
	*delivery // without fields if --from names the overlay

	environment     string
	folder, overlay string // the folders of the environment and the overlay, from the top, with a leading slash
	// forms are kustomizations of the environment, in the order of preference.
	forms [][]byte
	// applied is the kustomization of the overlay as the tool builds it, in the file appliedFile.
	applied     []byte
	appliedFile string
	values      []byte // the content of valuesFile, or nil
}

// readFrom returns the environments to create from o.From, and the objects of the file that it names.
func (p *target) readFrom(o Options) (all []*adoption, objects []*yamlv3.Node, err error) {
	deliveries := []*delivery{{}}
	if info, err := os.Stat(o.From); err != nil || info.IsDir() {
		if deliveries[0].Path, err = p.fromTop(o.From); err != nil {
			return nil, nil, err
		}
	} else if deliveries, objects, err = readDeliveries(o.From); err != nil {
		return nil, nil, err
	}
	if len(deliveries) > 1 && o.Environment != "" {
		return nil, nil, fmt.Errorf("--env names one environment, and %s has %d: copy one of them to a file of its own", o.From, len(deliveries))
	}
	var errs []error
	for _, d := range deliveries {
		a, err := p.adopt(o, d)
		if err == nil && slices.ContainsFunc(all, func(other *adoption) bool { return other.environment == a.environment }) {
			err = errors.New("is the second of this name: copy it to a file of its own, and pass --env")
		}
		if err == nil {
			all = append(all, a)
			continue
		}
		if d.root != nil {
			err = fmt.Errorf("%s:%d: %s: %w", d.file, d.root.Line, d.title(), err)
		}
		errs = append(errs, err)
	}
	return all, objects, errors.Join(errs...)
}

// fromTop returns the path of a folder from the top of the git repository.
func (p *target) fromTop(folder string) (string, error) {
	resolved, err := resolve(folder)
	if err != nil {
		return "", fmt.Errorf("--from: %w", err)
	}
	within, err := filepath.Rel(p.top, resolved)
	if err != nil || !filepath.IsLocal(within) {
		return "", fmt.Errorf("--from %s is outside of the git repository %s: name a folder in it", folder, p.top)
	}
	return filepath.ToSlash(within), nil
}

// adopt plans the environment for an overlay that a delivery object syncs.
func (p *target) adopt(o Options, d *delivery) (*adoption, error) {
	a := &adoption{delivery: d, overlay: path.Join("/", d.Path)}
	a.environment = cmp.Or(o.Environment, d.name(), path.Base(a.overlay))
	environments := path.Join("/", p.prefix, tree.EnvironmentsFolder)
	a.folder = path.Join(environments, a.environment)
	files := source.NewFileSystem(p.root, p.top)
	a.appliedFile = files.KustomizationFile(a.overlay)
	for _, taken := range []string{tree.EnvironmentsFolder, tree.Folder} {
		if isWithin(a.overlay, path.Join("/", p.prefix, taken)) {
			return nil, fmt.Errorf("%s is already in %s: run render --env %s", d.Path, taken, path.Base(a.overlay))
		}
	}
	switch {
	case !render.IsEnvironmentName(a.environment):
		return nil, invalidName(a.environment)
	case !files.IsDir(a.overlay):
		return nil, fmt.Errorf("path %q is no folder of this git repository: pass a file of the repository that it syncs", d.Path)
	case a.appliedFile == "" && (!d.isFlux || isWithin(environments, a.overlay)):
		return nil, fmt.Errorf("%s has no kustomization.yaml: write it by `kustomize create --autodetect --recursive`", cmp.Or(d.Path, "."))
	}
	values := ""
	if d.PostBuild != nil && len(d.PostBuild.Substitute)+len(d.PostBuild.SubstituteFrom) > 0 {
		var err error
		if values, a.values, err = p.values(a); err != nil {
			d.warn(node.Line(d.fields, "postBuild"), "spec.postBuild: the values of variables are unknown: "+err.Error())
		}
	}
	return a, a.addForms(p.root.FS(), files, kustomization+o.annotations(values))
}

// addForms adds the kustomizations of the environment: on top of the overlay or, if the object changes it, as a
// copy. If Flux lists the files of the overlay, so does the environment.
func (a *adoption) addForms(root fs.FS, files *source.FileSystem, header string) error {
	up, err := filepath.Rel(a.folder, a.overlay)
	if err != nil {
		return err
	}
	own := types.Kustomization{}
	if a.appliedFile == "" {
		if own.Resources, err = listFiles(root, files, a.overlay); err != nil {
			return err
		}
		header = "# " + a.Path + " has no kustomization.yaml, so Flux lists its files. List new files here.\n" + header
	} else {
		content, _ := files.ReadFile(a.appliedFile) // rendering reports errors
		_ = yaml.Unmarshal(content, &own)
		layer := a.mergeInto(types.Kustomization{Resources: []string{"."}}, files, a.overlay)
		a.forms = append(a.forms, a.compose(header, layer, up))
		header = "# A copy of " + source.Relative(a.appliedFile) + " with the fields of " + a.title() + ", as its tool builds them. Edit it here.\n" + header
	}
	merged := a.mergeInto(own, files, a.overlay)
	if a.appliedFile == "" || len(a.moved) > 0 {
		a.forms = append(a.forms, a.compose(header, merged, up))
	}
	a.applied, a.appliedFile = asYAML(merged), cmp.Or(a.appliedFile, path.Join(a.overlay, "kustomization.yaml"))
	return nil
}

// isWithin reports whether a path is a folder or below it.
func isWithin(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}

// compose returns a kustomization of the environment. up is the path to the overlay.
func (d *delivery) compose(header string, k types.Kustomization, up string) []byte {
	d.addMetadata(&k)
	var content map[string]any
	encoded, err := json.Marshal(k)
	if err == nil {
		err = json.Unmarshal(encoded, &content)
	}
	if err != nil {
		panic(err) // it is plain data
	}
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(content, name)
	}
	return append([]byte(header), asYAML(relocate(content, kustomizationPaths, filepath.ToSlash(up)))...)
}

func asYAML(content any) []byte {
	encoded, err := yaml.Marshal(content)
	if err != nil {
		panic(err) // it is plain data
	}
	return encoded
}

// listFiles returns the resources of a folder without a kustomization, as Flux lists them.
func listFiles(root fs.FS, files *source.FileSystem, folder string) (list []string, err error) {
	top := source.Relative(folder)
	err = fs.WalkDir(root, top, func(at string, entry fs.DirEntry, err error) error {
		name := "." + strings.TrimPrefix(at, top)
		switch {
		case err != nil || at == top:
			return err
		case entry.IsDir() && files.KustomizationFile("/"+at) != "":
			list = append(list, name)
			return fs.SkipDir
		case !entry.IsDir() && isYAML(at):
			list = append(list, name)
		}
		return nil
	})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s has no YAML files", top)
	}
	return list, err
}

// renderAdoption renders an environment, and changes the path of its delivery object. Without errors it writes
// the first form that changes no object, or the fewest. With errors it leaves a place for patches.
func (p *target) renderAdoption(ctx context.Context, repository *render.Repository, a *adoption, made *Result) error {
	file, rendered := source.Relative(path.Join(a.folder, "kustomization.yaml")), path.Join(p.prefix, tree.Folder, a.environment)
	best := &attempt{}
	for _, form := range a.forms {
		next, err := p.try(ctx, repository, a, form)
		if err != nil {
			return err
		}
		defer next.Close()
		if next.isBetterThan(best) {
			best = next
		}
		if !best.Failed() && len(best.changes) == 0 {
			break
		}
	}
	form := best.form
	made.Problems = slices.Concat(made.Problems, best.Environments[0].Problems, a.kept, best.changes)
	if best.Failed() {
		made.Unrendered = append(made.Unrendered, a.environment)
		made.Patched = append(made.Patched, file)
		isRendered := func(name string) bool { return name == rendered }
		made.Files, made.Rendered = slices.DeleteFunc(made.Files, isRendered), slices.DeleteFunc(made.Rendered, isRendered)
		if form = append(form, "# Correct the overlay here, by patches. Then run render --env "+a.environment+".\n"...); !bytes.Contains(form, []byte("\npatches:")) {
			form = append(form, "patches: []\n"...)
		}
		return p.root.WriteFile(file, form, 0o644)
	}
	if !bytes.Equal(form, a.forms[0]) {
		made.Problems = append(made.Problems, manifest.Problem{Warning: true, File: file, Message: "is a copy of " + source.Relative(a.appliedFile) +
			" with the fields of " + a.title() + ", as an environment on top of the overlay has other objects: edit the copy"})
	}
	if a.root != nil {
		a.setPath(rendered)
	}
	if err := p.root.WriteFile(file, form, 0o644); err != nil {
		return err
	}
	if err := best.Stage(ctx); err != nil {
		return err
	}
	return best.Commit()
}

// attempt is the update with one form of an environment.
type attempt struct {
	*render.Update
	form    []byte
	changes []manifest.Problem // of objects, in comparison with the tool's
}

func (a *attempt) isBetterThan(other *attempt) bool {
	if other.Update == nil || other.Failed() {
		return other.Update == nil || !a.Failed()
	}
	return !a.Failed() && len(a.changes) < len(other.changes)
}

func (p *target) try(ctx context.Context, repository *render.Repository, a *adoption, form []byte) (*attempt, error) {
	with := repository.With(map[string][]byte{p.within(path.Join(a.folder, "kustomization.yaml")): form})
	update, err := render.NewUpdate(ctx, with, render.Selection{Names: []string{a.environment}}, func(string, string) {})
	if err != nil {
		return nil, err
	}
	next := &attempt{Update: update, form: form}
	if !update.Failed() {
		next.changes = p.compare(repository, a, update.Environments[0].Plan.Files())
	}
	return next, nil
}

// within returns a path from the top as a path from the folder with environments/.
func (p *target) within(name string) string {
	return path.Join("/", strings.TrimPrefix(name, path.Join("/", p.prefix)))
}

// compare returns a warning for each object that differs from the output of kustomize, which the tool applies.
func (p *target) compare(repository *render.Repository, a *adoption, files []tree.File) (problems []manifest.Problem) {
	with := repository
	if len(a.moved) > 0 || a.isFlux {
		with = repository.With(map[string][]byte{p.within(a.appliedFile): a.applied})
	}
	expected, err := with.PlainBuild(p.within(a.overlay))
	if err != nil {
		return []manifest.Problem{{Warning: true, File: source.Relative(a.overlay), Message: "was not compared with the output of kustomize: " + err.Error()}}
	}
	for _, o := range expected {
		addTo := func(fields map[string]string, common map[string]string, set func(map[string]string)) {
			if len(common) > 0 {
				all := maps.Clone(common)
				maps.Copy(all, fields)
				maps.Copy(all, common)
				set(all)
			}
		}
		addTo(o.GetLabels(), a.CommonMetadata.Labels, o.SetLabels)
		addTo(o.GetAnnotations(), a.CommonMetadata.Annotations, o.SetAnnotations)
	}
	rendered, _ := tree.Objects(a.environment, files)
	kinds := repository.Kinds()
	isOwn := func(o manifest.Object) bool {
		return kinds.Find(o.GroupVersionKind()) != nil || kinds.RenderedFrom(o.Unstructured) != nil || o.GetAnnotations()[source.KeptConfig] != ""
	}
	for _, c := range diff.Objects(kinds, a.environment, slices.DeleteFunc(expected, isOwn), slices.DeleteFunc(rendered, isOwn)).Changes {
		message := string(c.Action()) + " in comparison with kustomize's output"
		if c.Action() == diff.Changed {
			var fields []string
			for _, f := range c.Fields() {
				fields = append(fields, f.Path)
			}
			message = manifest.FirstOf(5, fields) + ": not as in kustomize's output, so that a sync of rendered/ changes the object"
		}
		problems = append(problems, manifest.Problem{Warning: true, Object: c.Object().String(), Message: message})
	}
	return problems
}
