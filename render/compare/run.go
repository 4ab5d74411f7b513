package compare

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/watchdog"
)

// Diff lists the changes of environments, or the errors that prevent rendering them.
type Diff struct {
	// Base is the commit of the comparison, or empty for the work tree.
	Base string
	// Against is the other environment of the comparison, if any.
	Against      string
	Environments []EnvironmentDiff
	// Frame has the changed files since Base that the changes of Environments do not explain.
	Frame []FrameChange
}

// Differs reports whether anything changes.
func (d *Diff) Differs() bool {
	return slices.ContainsFunc(d.Frame, func(c FrameChange) bool { return !c.IsOrdinary() }) ||
		slices.ContainsFunc(d.Environments, func(e EnvironmentDiff) bool { return e.Differs() })
}

// Changes returns the changes of all environments, after those of other manifests.
func (d *Diff) Changes() (changes []Change) {
	for _, c := range d.Frame {
		changes = append(changes, c.Objects.Changes...)
	}
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
func New(ctx context.Context, repository *render.Repository, selection render.Selection, base string,
	progress func(environment, step string)) (*Diff, error) {
	around := &frame{isAll: selection.All}
	previous, err := openPrevious(ctx, around.recording(repository), base)
	if err != nil {
		return nil, err
	}
	defer previous.close()
	around.start(previous)
	repository = previous.repository
	names, err := repository.Select(selection)
	if err != nil {
		return nil, err
	}
	if selection.All {
		names = previous.withGone(names)
	}
	names, leftOut, warnings := repository.CheckedOut(names)
	watchdog.Expect(len(names))
	d := &Diff{Base: previous.commit}
	var errs []error
	for _, name := range leftOut {
		if base != "" {
			around.add(name, nil)
		}
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		isAskedFor := slices.Contains(selection.Names, name) && previous.listed[name] == nil
		examined, rendering, problems := repository.ExamineOrGone(name, isAskedFor, func(step string) {
			progress(name, step)
		})
		if base != "" {
			around.add(name, rendering)
		}
		e := EnvironmentDiff{Name: name, Kinds: repository.Kinds()}
		progress(name, "comparing")
		isUnrendered := previous.isUnrendered(name)
		switch {
		case isUnrendered:
			e, problems = previous.compareSources(examined, rendering, name, problems, func(step string) {
				progress(name, step)
			})
		case rendering != nil:
			e, err = previous.compare(ctx, examined, rendering)
			errs = append(errs, err)
		}
		if examined != nil && previous.commit != "" && !isUnrendered {
			errs = append(errs, previous.findJudge(ctx, examined, &e))
		}
		e.Problems, e.Examined = slices.Concat(e.Problems, problems, warnings), examined
		warnings = nil // one warning is enough
		d.Environments = append(d.Environments, e)
	}
	errs = append(errs, previous.compareVerdicts(d.Environments, progress))
	if base != "" {
		d.Frame, err = around.changes(ctx)
		errs = append(errs, err)
	}
	return d, errors.Join(errs...)
}

// withGone adds the environments of the base to names, which may be gone.
func (b *previousRendering) withGone(names []string) []string {
	names = slices.AppendSeq(names, maps.Keys(b.listed))
	if b.commit != "" {
		was, _ := b.base.Environments() // an unreadable folder has none to compare with
		names = append(names, slices.DeleteFunc(was, func(name string) bool { return !render.IsFolder(name) })...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// sides are the objects of an environment before and after, as Flux applies them.
type sides struct {
	was, is, unchanged []manifest.Object
}

// readSides reads the previous rendering of an environment. It does not parse files that stay the same.
func (b *previousRendering) readSides(ctx context.Context,
	rendering *render.Rendering) (s sides, warnings []manifest.Problem, err error) {
	now := map[string][]byte{}
	for _, file := range rendering.Files {
		now[file.Path] = file.Content
	}
	files, same, err := b.readChanged(ctx, rendering.Environment, now)
	if err != nil {
		return s, nil, err
	}
	s.was, warnings = b.parse(rendering.Environment, files)
	values, err := b.postBuild(rendering, s.was)
	if err != nil {
		warnings = append(warnings,
			manifest.Problem{Warning: true,
				Message: fmt.Sprintf("the previous values of variables are unknown, so objects with variables count "+
					"as changed: %v", err)})
	}
	haveSameValues := reflect.DeepEqual(values, rendering.PostBuild)
	for i, o := range rendering.Objects {
		switch {
		case !same[rendering.Files[i].Path]:
			s.is = append(s.is, o)
		case !haveSameValues && (values.Substitutes(o) || rendering.PostBuild.Substitutes(o)):
			s.was, s.is = append(s.was, o), append(s.is, o)
		default:
			s.unchanged = append(s.unchanged, o)
		}
	}
	s.was, s.is, s.unchanged = applied(values, s.was, &warnings), applied(rendering.PostBuild, s.is, &warnings),
		applied(rendering.PostBuild, s.unchanged, &warnings)
	return s, warnings, nil
}

func (b *previousRendering) compare(ctx context.Context, examined *render.Examination,
	rendering *render.Rendering) (EnvironmentDiff, error) {
	name := rendering.Environment
	s, warnings, err := b.readSides(ctx, rendering)
	if err != nil {
		return EnvironmentDiff{}, err
	}
	wasInstalled, problems := b.installed(examined, slices.Concat(s.was, s.unchanged))
	e := withInstalled(b.repository.Kinds(), name, s.was, s.is, wasInstalled, rendering.Installed)
	e.Problems, e.PostBuild = slices.Concat(warnings, problems), rendering.PostBuild
	e.OldCharts, e.Charts = b.charts(rendering), rendering.Charts
	e.Unread = append(e.Unread, b.unread(e.OldCharts, e.Charts)...)
	for _, o := range s.unchanged {
		e.Unchanged = append(e.Unchanged, o.Unstructured)
	}
	renderedFor, isRendered, err := b.renderedFor(name)
	if isRendered && len(rendering.Objects) > 0 && renderedFor != rendering.Index.Kubernetes {
		e.Kubernetes = &KubernetesChange{renderedFor, rendering.Index.Kubernetes}
	}
	if examined != nil {
		e.Checker = examined.Checker()
	}
	return e, err
}

// applied returns objects as Flux applies them. An object with a substitution that fails stays as it is.
func applied(values *flux.PostBuild, objects []manifest.Object, warnings *[]manifest.Problem) []manifest.Object {
	all := make([]manifest.Object, len(objects))
	for i, result := range values.Substitute(objects, nil) {
		all[i] = result.Object
		if result.IsSubstituted {
			all[i].Generator = generatorOf(objects[i])
		}
		if result.Err != nil {
			*warnings = append(*warnings, manifest.Problem{Warning: true, File: objects[i].File,
				Message: fmt.Sprintf("%s: compared with its variables, as Flux cannot substitute them: %v", objects[i],
					result.Err)})
		}
	}
	return all
}
