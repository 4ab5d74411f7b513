package diff

import (
	"context"
	"errors"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/tree"
)

// Diff is what rendering environments now changes, or why they cannot be rendered.
type Diff struct {
	// Base is the commit that was compared with; empty where that is the work tree.
	Base         string
	Environments []Environment
}

// Differs says whether anything changes.
func (d *Diff) Differs() bool {
	return slices.ContainsFunc(d.Environments, func(e Environment) bool { return len(e.Changes) > 0 })
}

// Changes are those of all environments.
func (d *Diff) Changes() (changes []Change) {
	for _, e := range d.Environments {
		changes = append(changes, e.Changes...)
	}
	return changes
}

// Failed says whether an environment has errors.
func (d *Diff) Failed() bool {
	return slices.ContainsFunc(d.Environments, func(e Environment) bool { return object.HasErrors(e.Problems) })
}

// New renders environments and compares them with what they were rendered to: in the work
// tree or, where base is not empty, in what is committed at the git revision base and HEAD
// began from. Of an environment that is gone everything is removed. An error is for what
// keeps it from comparing. Progress is told what is being done.
func New(ctx context.Context, repository *render.Repository, selection render.Selection, base string, progress func(environment, step string)) (*Diff, error) {
	before, err := open(ctx, repository, base)
	if err != nil {
		return nil, err
	}
	rendered, err := before.environments()
	if err != nil {
		return nil, err
	}
	names, err := repository.Select(selection)
	if err != nil {
		return nil, err
	}
	if selection.All {
		names = append(names, rendered...)
		slices.Sort(names)
		names = slices.Compact(names)
	}
	d := &Diff{Base: before.commit()}
	var errs []error
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		isAskedFor := slices.Contains(selection.Names, name) && !slices.Contains(rendered, name)
		rendering, problems := repository.RenderOrGone(name, isAskedFor, func(step string) { progress(name, step) })
		e := Environment{Name: name}
		if rendering != nil {
			progress(name, "comparing")
			e, err = compareWith(before, repository.Kinds(), name, rendering)
			errs = append(errs, err)
		}
		e.Problems = append(e.Problems, problems...)
		d.Environments = append(d.Environments, e)
	}
	return d, errors.Join(errs...)
}

// open opens what was rendered before.
func open(ctx context.Context, repository *render.Repository, base string) (before, error) {
	if base == "" {
		return workTree{repository}, nil
	}
	return openCommit(ctx, repository.Dir(), base)
}

// compareWith compares an environment with what it was before. What has the same bytes need
// not be read.
func compareWith(before before, kinds *registry.Kinds, name string, rendering *render.Rendering) (Environment, error) {
	same, others, err := before.compare(name, rendering.Files)
	if err != nil {
		return Environment{}, err
	}
	was, warnings := manifests(before, name, others)
	var unchanged []*unstructured.Unstructured
	var is []Manifest
	for i, o := range rendering.Objects {
		if same[rendering.Files[i].Path] {
			unchanged = append(unchanged, o.Unstructured)
			continue
		}
		is = append(is, Manifest{o.Unstructured, path.Join(tree.Folder, name, rendering.Files[i].Path)})
	}
	e := Objects(kinds, name, was, is)
	e.Unchanged = append(e.Unchanged, unchanged...)
	e.Problems = warnings
	return e, nil
}
