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

// Diff lists the changes of environments, or the errors that prevent rendering them.
type Diff struct {
	// Base is the commit of the comparison, or empty for the work tree.
	Base         string
	Environments []EnvironmentDiff
	// Frame has changes since Base beside the environments.
	Frame []FrameChange
}

// Differs reports whether anything changes.
func (d *Diff) Differs() bool {
	return len(d.Frame) > 0 || slices.ContainsFunc(d.Environments, func(e EnvironmentDiff) bool { return len(e.Changes) > 0 || e.Kubernetes != nil })
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
	return slices.ContainsFunc(d.Environments, func(e EnvironmentDiff) bool { return manifest.HasErrors(e.Problems) })
}

// New renders environments and compares them with their previous rendering: rendered/ in the work tree or,
// if base is not empty, in the merge base of the revision base and HEAD. All objects of a removed
// environment are removed. It calls progress with each step.
func New(ctx context.Context, repository *render.Repository, selection render.Selection, base string, progress func(environment, step string)) (*Diff, error) {
	previous, err := openPrevious(ctx, repository, base)
	if err != nil {
		return nil, err
	}
	names, err := repository.Select(selection)
	if err != nil {
		return nil, err
	}
	if selection.All {
		names = slices.AppendSeq(names, maps.Keys(previous.listed))
		slices.Sort(names)
		names = slices.Compact(names)
	}
	d := &Diff{Base: previous.commit}
	var errs []error
	around := &frame{isAll: selection.All, rendered: map[string]map[string]bool{}}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		isAskedFor := slices.Contains(selection.Names, name) && previous.listed[name] == nil
		rendering, problems := repository.RenderOrGone(name, isAskedFor, func(step string) { progress(name, step) })
		around.add(name, rendering)
		e := EnvironmentDiff{Name: name}
		if rendering != nil {
			progress(name, "comparing")
			e, err = previous.compare(ctx, rendering)
			errs = append(errs, err)
		}
		e.Problems = append(e.Problems, problems...)
		d.Environments = append(d.Environments, e)
	}
	if base != "" {
		around.prefix = previous.git.Prefix()
		d.Frame, err = around.changesSince(ctx, previous.git, previous.commit)
		errs = append(errs, err)
	}
	return d, errors.Join(errs...)
}

// compare compares a rendering with the previous one. It does not parse equal files.
func (b *previousRendering) compare(ctx context.Context, rendering *render.Rendering) (EnvironmentDiff, error) {
	name := rendering.Environment
	now := map[string][]byte{}
	for _, file := range rendering.Files {
		now[file.Path] = file.Content
	}
	files, same, err := b.readChanged(ctx, name, now)
	if err != nil {
		return EnvironmentDiff{}, err
	}
	was, warnings := b.parse(name, files)
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
