package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/regular"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/node"
	"example.com/gatehouse/render/tree"
)

// adoption is an environment to create from an overlay.
type adoption struct {
	*delivery // without fields if --from names the overlay

	environment     string
	folder, overlay string // the folders of the environment and the overlay, from the top, with a leading slash
	// applied is the kustomization of the overlay as the tool builds it, if it changes appliedFile.
	applied     []byte
	appliedFile string
	form        []byte // the kustomization of the environment
	copied      []byte // form as a copy of applied, or nil
	isCluster   bool   // form is the form of a cluster
	values      []byte // the content of valuesFile, or nil
}

// readFrom plans the environments to create from o.From. An object that stays as it is, beside others, is a
// warning.
func (p *target) readFrom(o Options, made *Result) (err error) {
	top, err := render.Open(p.top, o.Kinds, render.Options{})
	if err == nil {
		defer top.Close()
	} else {
		top = nil // it has nothing that tools sync
	}
	var deliveries []*delivery
	if info, err := os.Stat(o.From); err != nil || info.IsDir() {
		from := &delivery{}
		if from.Path, err = p.fromTop(o.From); err != nil {
			return err
		}
		deliveries = p.clusters(top, from)
	} else if deliveries, made.objects, err = readDeliveries(o.From); err != nil {
		return err
	}
	built := slices.DeleteFunc(slices.Clone(deliveries), (*delivery).isOther)
	prefix := ""
	if len(built) > 1 && o.Environment != "" {
		prefix = o.Environment + "-"
		o.Environment = ""
	}
	var errs []error
	isWrong := false
	for _, d := range deliveries {
		a, err := p.adopt(o, top, prefix, d)
		if err == nil && slices.ContainsFunc(made.adoptions, func(other *adoption) bool {
			return other.environment == a.environment
		}) {
			err = errors.New("is the second of this name: copy it to a file of its own, and pass --env")
		}
		if err == nil {
			made.adoptions = append(made.adoptions, a)
			continue
		}
		if d.root == nil {
			return err
		}
		errs = append(errs, d.locate(err))
		isWrong = isWrong || !errors.As(err, new(staysError))
		d.warn(d.root.Line, d.title()+" stays as it is: "+err.Error())
		made.Problems = append(made.Problems, d.kept[len(d.kept)-1])
	}
	if isWrong || len(made.adoptions) == 0 {
		return errors.Join(errs...)
	}
	p.dropExisting(made)
	return nil
}

// dropExisting drops environments that exist already, with a warning, unless all do.
func (p *target) dropExisting(made *Result) {
	exists := func(a *adoption) bool { return p.exists(source.Relative(a.folder)) }
	var warnings []manifest.Problem
	for _, a := range made.adoptions {
		if exists(a) {
			warnings = append(warnings, manifest.Problem{Code: manifest.NotAdopted, Warning: true,
				File: source.Relative(a.folder), Message: "exists already, and stays as it is: pass another name by " +
					"--env, which begins the names of several environments"})
		}
	}
	if len(warnings) < len(made.adoptions) {
		made.adoptions = slices.DeleteFunc(made.adoptions, exists)
		made.Problems = append(made.Problems, warnings...)
	}
}

// clusters returns the clusters in a folder in place of the folder, unless that has none, or a kustomization.
func (p *target) clusters(top *render.Repository, from *delivery) (all []*delivery) {
	var names []string
	if top != nil && p.prefix == "" && !p.exists(path.Join(from.Path, "kustomization.yaml")) {
		names = top.Entries().Clusters(from.Path)
	}
	if len(names) == 0 {
		return []*delivery{from}
	}
	count := map[string]int{}
	for _, name := range names {
		count[path.Base(name)]++
	}
	for _, name := range names {
		d := &delivery{called: path.Base(name)}
		d.Path = path.Clean(name)
		if count[d.called] > 1 { // such as prod/flux and dev/flux
			d.called = path.Base(path.Dir(d.Path)) + "-" + d.called
		}
		all = append(all, d)
	}
	return all
}

// fromTop returns the path of a folder from the top of the git repository.
func (p *target) fromTop(folder string) (string, error) {
	resolved, err := resolve(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("--from %s: there is no such folder or file: name the folder of an overlay, or a file "+
			"of Flux Kustomizations or Argo CD Applications", folder)
	}
	if err != nil {
		return "", fmt.Errorf("--from: %w", err)
	}
	within, err := filepath.Rel(p.top, resolved)
	if err != nil || !filepath.IsLocal(within) {
		return "", fmt.Errorf("--from %s is outside of the git repository %s: name a folder in it", folder, p.top)
	}
	return filepath.ToSlash(within), nil
}

// adopt plans the environment for an overlay that a delivery object syncs. Its name begins with prefix.
func (p *target) adopt(o Options, top *render.Repository, prefix string, d *delivery) (*adoption, error) {
	switch {
	case d.isOther():
		return nil, staysError{errors.New("has no spec.source of kustomize alone: render takes no charts, " +
			"directories and plugins")}
	case d.err != nil:
		return nil, d.err
	}
	a := &adoption{delivery: d, overlay: path.Join("/", d.Path)}
	a.environment = prefix + cmp.Or(o.Environment, d.called, d.name()+d.suffix,
		path.Base(path.Join(filepath.ToSlash(p.top), d.Path)))
	root := path.Join("/", p.prefix)
	environments := path.Join(root, tree.EnvironmentsFolder)
	a.folder = path.Join(environments, a.environment)
	files := source.NewFileSystem(source.Disk(p.root, p.top), p.top, nil)
	a.appliedFile = files.KustomizationFile(a.overlay)
	switch {
	case path.Dir(a.overlay) == environments, source.IsWithin(a.overlay, path.Join(root, tree.Folder)):
		return nil, staysError{fmt.Errorf("%s is already in %s: run render --env %s", d.Path,
			path.Base(path.Dir(a.overlay)), path.Base(a.overlay))}
	case !IsFreeName(a.environment):
		return nil, invalidName(a.environment)
	case !files.IsDir(a.overlay):
		return nil, fmt.Errorf("path %q is no folder of this git repository: pass a file of the repository that it "+
			"syncs", d.Path)
	case !source.IsWithin(a.overlay, root):
		return nil, fmt.Errorf("%s is outside of %s, the only folder that render would read: pass a --root that "+
			"holds both", d.Path, p.prefix)
	case p.delivers(top, a):
		a.isCluster = true
	case a.appliedFile == "" && (!d.isFlux || source.IsWithin(environments, a.overlay)):
		return nil, staysError{fmt.Errorf("%s has no kustomization.yaml: write it by `kustomize create --autodetect "+
			"--recursive`", cmp.Or(d.Path, "."))}
	}
	annotations := a.annotations(files)
	hasValues := len(d.PostBuild.Substitute)+len(d.PostBuild.SubstituteFrom) > 0
	if hasValues || d.PostBuild.SubstituteStrategy == "Always" {
		var err error
		if annotations[flux.Annotation], a.values, err = p.values(a); err != nil {
			d.warn(node.Line(d.fields, "postBuild"), "spec.postBuild: the values of variables are unknown: "+
				err.Error())
		}
	}
	if a.isCluster {
		up := wayTo(a.folder, a.overlay)
		annotations[render.ClusterAnnotation] = up
		a.form = compose("# A cluster: the objects in "+d.Path+", and all that the deliveries among them bring.\n"+
			o.header(annotations), types.Kustomization{Resources: []string{"."}}, up)
		return a, nil
	}
	return a, a.setForms(files, o.header(annotations))
}

// annotations returns the annotations of the overlay that only the kustomization of an environment may have.
func (a *adoption) annotations(files *source.FileSystem) map[string]string {
	var own types.Kustomization
	_ = files.ReadKustomization(a.overlay, &own) // rendering reports errors
	taken := map[string]string{}
	if own.MetaData == nil {
		return taken
	}
	for _, name := range []string{tree.KubernetesAnnotation, render.RuntimeConfigAnnotation, flux.Annotation} {
		taken[name] = own.MetaData.Annotations[name]
	}
	if file := taken[flux.Annotation]; file != "" && file != flux.Unknown {
		taken[flux.Annotation] = wayTo(a.folder, path.Join(a.overlay, file))
	}
	return taken
}

// delivers reports whether the overlay of an environment is a cluster: its objects deliver other folders.
func (p *target) delivers(top *render.Repository, a *adoption) bool {
	return top != nil && a.root == nil && p.prefix == "" && !source.IsWithin(a.folder, a.overlay) &&
		top.Delivers("."+a.overlay)
}

// setForms sets the kustomizations. If Flux lists the files of the overlay, so does the environment. An
// environment within the overlay cannot be on top of it.
func (a *adoption) setForms(files *source.FileSystem, header string) error {
	up := wayTo(a.folder, a.overlay)
	made, err := folder.Place{Overlay: a.Overlay, Folder: a.overlay, IsFlux: a.isFlux}.Kustomization(files)
	if err != nil {
		return err
	}
	isListed := a.appliedFile == ""
	content, _ := files.ReadFile(a.appliedFile) // rendering reports errors
	if made.File != "" {
		a.appliedFile = made.File
		a.applied = made.Content
		content = made.Content
	}
	var merged types.Kustomization
	_ = yaml.Unmarshal(content, &merged)
	merged = a.withMetadata(merged)
	switch isBelow := source.IsWithin(a.folder, a.overlay); {
	case isListed:
		a.form = compose("# "+a.Path+" has no kustomization.yaml, so Flux lists its files. List new files here.\n"+
			header, merged, up)
		return nil
	case isBelow:
		a.form = compose("# A copy of "+source.Relative(a.appliedFile)+
			", as no environment below that can list it. Edit it here.\n"+header, merged, up)
		return nil
	case len(a.moved) > 0:
		a.copied = compose("# A copy of "+source.Relative(a.appliedFile)+" with the fields of "+a.title()+
			", as its tool builds them. Edit it here.\n"+header, merged, up)
	}
	find := func(component string) []string {
		if files.Exists(path.Join(a.overlay, component)) {
			return []string{component}
		}
		return nil
	}
	onTop := a.MergeInto(types.Kustomization{Resources: []string{"."}}, a.isFlux, find)
	a.form = compose(header, a.withMetadata(onTop), up)
	return nil
}

// withMetadata adds the metadata to a kustomization that Flux sets in built objects.
func (a *adoption) withMetadata(k types.Kustomization) types.Kustomization {
	of := a.CommonMetadata
	isOver := false
	for label := range of.Labels {
		isOver = isOver || k.CommonLabels[label] != "" //nolint:staticcheck // people use it
	}
	switch {
	case isOver: // kustomize sets commonLabels after labels
		k.Transformers = append(k.Transformers, transformer("Label", "labels", of.Labels))
	case len(of.Labels) > 0:
		k.Labels = append(k.Labels, types.Label{Pairs: of.Labels})
	}
	if len(of.Annotations) > 0 {
		k.Transformers = append(k.Transformers, transformer("Annotations", "annotations", of.Annotations))
	}
	return k
}

// transformer returns a transformer that sets a field of metadata.
func transformer(kind, field string, values map[string]string) string {
	return "apiVersion: builtin\nkind: " + kind + "Transformer\nmetadata: {name: common}\n" +
		"fieldSpecs: [{path: metadata/" + field + ", create: true}]\n" +
		string(manifest.ToYAML(map[string]any{field: values}))
}

// renderAdoption renders an environment, and changes its delivery object. With errors it leaves a place for
// patches.
func (p *target) renderAdoption(ctx context.Context, repository *render.Repository, a *adoption, made *Result) error {
	file := path.Join(a.folder, "kustomization.yaml")
	rendered := path.Join(p.prefix, tree.Folder, a.environment)
	expected, buildErr := p.expected(repository, a)
	if a.copied != nil && buildErr == nil {
		layered, err := p.build(repository, a.folder, file, a.form)
		if err != nil || len(changes(repository, a.environment, expected, layered)) > 0 {
			a.form = a.copied
			a.kept = append(a.kept, manifest.Problem{Code: manifest.NotAdopted, Warning: true,
				File: source.Relative(file), Message: "is a copy of " + source.Relative(a.appliedFile) +
					" with the fields of " + a.title() +
					", as an environment on top of the overlay has other objects: edit the copy"})
		}
	}
	file = source.Relative(file)
	if err := regular.ReplaceFile(p.root, file, a.form); err != nil {
		return err
	}
	problems, err := p.render(ctx, repository, a.environment)
	if form := withoutIdle(a.form, file, problems); err == nil && len(form) < len(a.form) {
		a.form, made.idle = form, append(made.idle, a.environment)
		if err = regular.ReplaceFile(p.root, file, a.form); err == nil {
			problems, err = p.render(ctx, repository, a.environment)
		}
	}
	made.Problems = slices.Concat(made.Problems, problems, a.kept)
	if a.root != nil {
		a.setPath(rendered)
	}
	if a.isCluster {
		files, isDirectory := repository.Entries().SyncsOf(a.Path)
		made.Moves = append(made.Moves, Move{files, isDirectory, a.Path, rendered})
	}
	switch {
	case err != nil:
		return err
	case manifest.HasErrors(problems):
		made.Unrendered, made.Patched = append(made.Unrendered, a.environment), append(made.Patched, file)
		isRendered := func(name string) bool { return name == rendered }
		made.Files, made.Rendered = slices.DeleteFunc(made.Files, isRendered),
			slices.DeleteFunc(made.Rendered, isRendered)
		if !strings.Contains(string(a.form), "\npatches:") {
			a.form = append(a.form, "patches: []\n"...)
		}
		return regular.ReplaceFile(p.root, file, append(a.form, "# Correct the overlay here, by patches. Then run "+
			"render --env "+a.environment+".\n"...))
	case buildErr != nil:
		made.Problems = append(made.Problems, manifest.Problem{Code: manifest.NotAdopted, Warning: true,
			File: source.Relative(a.overlay), Message: "was not compared with the output of kustomize: " +
				buildErr.Error()})
	default:
		files, err := repository.Rendered(a.environment)
		if err != nil {
			return err
		}
		objects, _ := tree.Objects(a.environment, files)
		made.Problems = append(made.Problems, warnings(changes(repository, a.environment, expected, objects))...)
	}
	return nil
}

// expected returns the objects that the tool applies today.
func (p *target) expected(repository *render.Repository, a *adoption) ([]manifest.Object, error) {
	if a.isCluster {
		return repository.PlainCluster(a.environment)
	}
	objects, err := p.build(repository, a.overlay, a.appliedFile, a.applied)
	for _, o := range objects {
		a.CommonMetadata.SetIn(o)
	}
	return objects, err
}

// build returns the output of kustomize for a folder, which tools apply, with the content of a file unless nil.
func (p *target) build(repository *render.Repository, folder, file string, content []byte) ([]manifest.Object, error) {
	within := func(name string) string { // from the folder with environments/
		return path.Join("/", strings.TrimPrefix(name, path.Join("/", p.prefix)))
	}
	if content != nil {
		repository = repository.With(map[string][]byte{within(file): content})
	}
	return repository.PlainBuild(within(folder))
}

// changes compares objects, except for those that render makes or that stay out of a rendering.
func changes(repository *render.Repository, environment string, before, after []manifest.Object) []compare.Change {
	kinds := repository.Kinds()
	isOwn := func(o manifest.Object) bool {
		return kinds.Find(o.GroupVersionKind()) != nil || kinds.RenderedFrom(o.Unstructured) != nil
	}
	others := func(all []manifest.Object) []manifest.Object { return slices.DeleteFunc(slices.Clone(all), isOwn) }
	return compare.New(kinds, environment, compare.Input{Objects: others(before)},
		compare.Input{Objects: others(after)}).Changes
}

// warnings returns a warning for each object that differs from the output of kustomize, which the tool applies.
func warnings(changes []compare.Change) (problems []manifest.Problem) {
	for _, c := range changes {
		message := string(c.Action()) + " in comparison with kustomize's output"
		if c.Action() == compare.Changed {
			fields := make([]string, 0, len(c.Fields()))
			for _, f := range c.Fields() {
				fields = append(fields, f.Path)
			}
			message = manifest.FirstOf(5, fields) +
				": not as in kustomize's output, so that a sync of rendered/ changes the object"
		}
		problems = append(problems, manifest.Problem{Code: manifest.NotAdopted, Warning: true,
			Object: c.Object().String(), Message: message})
	}
	return problems
}
