package diff

import (
	"context"
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
)

// Diff is what rendering environments now changes, or why they cannot be rendered.
type Diff struct {
	// Base is the commit that was compared with; empty where that is the work tree.
	Base         string
	Environments []Environment
}

// Differs reports whether anything changes.
func (d *Diff) Differs() bool {
	return slices.ContainsFunc(d.Environments, func(e Environment) bool { return len(e.Changes) > 0 || e.Kubernetes != nil })
}

// Changes returns the changes of all environments.
func (d *Diff) Changes() (changes []Change) {
	for _, e := range d.Environments {
		changes = append(changes, e.Changes...)
	}
	return changes
}

// Failed reports whether an environment has errors.
func (d *Diff) Failed() bool {
	return slices.ContainsFunc(d.Environments, func(e Environment) bool { return manifest.HasErrors(e.Problems) })
}

// New renders environments and compares them with what they were rendered to: in the work
// tree or, where base is not empty, in what is committed where the git revision base and HEAD
// began to differ. Of an environment that is gone it removes everything. It calls progress with
// each step.
func New(ctx context.Context, repository *render.Repository, selection render.Selection, base string, progress func(environment, step string)) (*Diff, error) {
	before, err := openBefore(ctx, repository, base)
	if err != nil {
		return nil, err
	}
	names, err := repository.Select(selection)
	if err != nil {
		return nil, err
	}
	if selection.All {
		names = slices.AppendSeq(names, maps.Keys(before.listed))
		slices.Sort(names)
		names = slices.Compact(names)
	}
	d := &Diff{Base: before.commit}
	var errs []error
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		isAskedFor := slices.Contains(selection.Names, name) && before.listed[name] == nil
		rendering, problems := repository.RenderOrGone(name, isAskedFor, func(step string) { progress(name, step) })
		e := Environment{Name: name}
		if rendering != nil {
			progress(name, "comparing")
			e, err = before.compare(ctx, rendering)
			errs = append(errs, err)
		}
		e.Problems = append(e.Problems, problems...)
		d.Environments = append(d.Environments, e)
	}
	return d, errors.Join(errs...)
}

// compare compares an environment with what it was rendered to before. It does not parse what
// has the same bytes.
func (b *before) compare(ctx context.Context, rendering *render.Rendering) (Environment, error) {
	name := rendering.Environment
	now := map[string][]byte{}
	for _, file := range rendering.Files {
		now[file.Path] = file.Content
	}
	files, same, err := b.read(ctx, name, now)
	if err != nil {
		return Environment{}, err
	}
	was, warnings := b.objects(name, files)
	var unchanged []*unstructured.Unstructured
	var is []manifest.Object
	for i, o := range rendering.Objects {
		if same[rendering.Files[i].Path] {
			unchanged = append(unchanged, o.Unstructured)
		} else {
			is = append(is, o)
		}
	}
	e := Objects(b.repository.Kinds(), name, was, is)
	e.Unchanged = append(e.Unchanged, unchanged...)
	e.Problems, e.For = warnings, rendering.Index.Kubernetes
	renderedFor, isRendered, err := b.renderedFor(name)
	if isRendered && len(rendering.Objects) > 0 && renderedFor != e.For {
		e.Kubernetes = &KubernetesChange{renderedFor, e.For}
	}
	return e, err
}
