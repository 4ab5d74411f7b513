// Package diff compares environments with their previous rendering: rendered/ in the work tree or in a commit, the
// sources of a commit, or another environment.
package diff

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/watchdog"
)

// Run renders environments and compares them with their previous rendering: rendered/ in the work tree or,
// if base is not empty, in the merge base of the revision base and HEAD. All objects of a removed
// environment are removed. It calls progress with each step.
func Run(ctx context.Context, repository *render.Repository, selection render.Selection, base string,
	progress func(environment, step string)) (*compare.Diff, error) {
	around := &frame{isAll: selection.All}
	previous, err := openPrevious(ctx, repository.Still().Recording(&around.looked), base)
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
	d := &compare.Diff{Base: previous.commit}
	here := names
	if selection.All {
		d.LeftOut = repository.LeftOut()
		names = previous.withGone(names)
	}
	names, leftOut, warnings := repository.CheckedOut(names)
	watchdog.Expect(len(names))
	var errs []error
	for _, name := range leftOut {
		if base != "" {
			around.add(name, nil)
		}
	}
	found := make([]compared, len(names))
	failed := make([]error, len(names))
	parallel.Some(render.SideBySide, len(names), func(i int) {
		if ctx.Err() != nil {
			return
		}
		name := names[i]
		both := &pair{}
		defer both.memo.Clear() // comparisons keep their environments
		isAskedFor := slices.Contains(selection.Names, name) && previous.listed[name] == nil
		step := func(step string) { progress(name, step) }
		now := repository.Recording(&both.looks).Load(name, render.LoadOptions{MayBeGone: !isAskedFor,
			Memo: &both.memo, Progress: step})
		if base != "" {
			around.add(name, now.Rendering)
		}
		step("comparing")
		found[i], failed[i] = previous.compare(ctx, now, both, step)
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	findLost(found, here)
	errs = append(errs, failed...)
	if len(names) > 0 { // one warning is enough
		found[0].Problems = append(found[0].Problems, warnings...)
	}
	d.Environments = previous.judge(found, progress)
	if base != "" {
		d.Frame, err = around.changes(ctx, d.Environments)
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

// compared is all that a comparison is made of.
type compared struct {
	compare.Differences
	compare.Facts
	judge judge // before the change
}

// findLost finds the environments of the base that are not found here, although they have files that no other
// environment reads.
func findLost(found []compared, here []string) {
	isRead := func(file string) bool {
		return slices.ContainsFunc(found, func(other compared) bool {
			return slices.Contains(here, other.Name) && other.Environment.Consumes(file)
		})
	}
	for i, one := range found {
		if one.Environment == nil || slices.Contains(here, one.Name) { // nil after a panic
			continue
		}
		isLost := func(file string) bool { return one.Environment.IsWithin(file) && !isRead(file) }
		for _, c := range one.Environment.Consumers() {
			found[i].IsLost = found[i].IsLost || slices.ContainsFunc(c.Looks.Consumed(), isLost)
		}
	}
}

// compare compares an environment with its previous rendering, or with one of its previous sources.
func (b *previousRendering) compare(ctx context.Context, now *render.Environment, shared *pair,
	step func(string)) (one compared, err error) {
	one.Facts = compare.Facts{Name: now.Name, Environment: now}
	defer fault.Keep(&one.Problems, render.PlaceOf(now.Name))
	var before, after compare.Input
	problems := now.Problems
	isComparable := now.Rendering != nil
	isUnrendered := b.isUnrendered(now.Name)
	isUnbuilt := false
	switch {
	case isUnrendered:
		before, after, isUnbuilt, problems = b.readSources(now, shared, func(doing string) { step("base: " + doing) })
		isComparable = before.Objects != nil
	case isComparable:
		var warnings []manifest.Problem
		before, after, warnings, err = b.readRendered(ctx, now)
		problems = slices.Concat(warnings, problems)
	case b.commit == "" && now.IsBuilt(): // its errors prevent a comparison, and its known objects have images
		after = inputOf(now, &problems)
		before = after
	}
	one.Problems = slices.Clone(problems)
	one.Differences = compare.Differ(b.repository.Kinds(), before, after)
	one.NotCompared = !isComparable && manifest.HasErrors(problems)
	one.IsUnbuilt = isUnbuilt && !manifest.HasErrors(problems)
	if isComparable && now.Rendering != nil {
		one.PostBuild = now.Rendering.PostBuild
		one.NameReferences = now.Rendering.NameReferences
	}
	if isComparable && now.IsThere() {
		one.Checker = now.Checker()
	}
	if now.IsThere() && b.commit != "" && !isUnrendered {
		var unknown error
		one.judge, one.Definitions, unknown = b.findJudge(ctx, now, one)
		err = errors.Join(err, unknown)
	}
	return one, err
}

// readRendered reads the previous rendering of an environment. It does not parse files that stay the same.
func (b *previousRendering) readRendered(ctx context.Context, now *render.Environment) (before, after compare.Input,
	warnings []manifest.Problem, err error) {
	rendering := now.Rendering
	content := map[string][]byte{}
	for _, file := range rendering.Files {
		content[file.Path] = file.Content
	}
	files, same, err := b.readChanged(ctx, rendering.Environment, content)
	if err != nil {
		return before, after, nil, err
	}
	was, warnings := b.parse(rendering.Environment, files)
	values, err := b.postBuild(rendering, was)
	if err != nil {
		warnings = append(warnings,
			manifest.Problem{Warning: true,
				Message: fmt.Sprintf("the previous values of variables are unknown, so objects with variables count "+
					"as changed: %v", err)})
	}
	var is, unchanged []manifest.Object
	haveSameValues := reflect.DeepEqual(values, rendering.PostBuild)
	for i, o := range rendering.Objects {
		switch {
		case !same[rendering.Files[i].Path]:
			is = append(is, o)
		case !haveSameValues && (values.Substitutes(o) || rendering.PostBuild.Substitutes(o)):
			was = append(was, o)
			is = append(is, o)
		default:
			unchanged = append(unchanged, o)
		}
	}
	unchanged = applied(rendering.PostBuild, unchanged, &warnings)
	before.Objects = append(applied(values, was, &warnings), unchanged...)
	after.Objects = append(applied(rendering.PostBuild, is, &warnings), unchanged...)
	installed, more := b.installed(now, before.Objects)
	before.Deliveries = installed
	after.Deliveries = rendering.Deliveries
	before.Charts = b.charts(rendering)
	after.Charts = rendering.Charts
	after.Kubernetes = rendering.Index.Kubernetes
	after.Untold = now.Untold()
	renderedFor, isRendered, err := b.renderedFor(rendering.Environment)
	before.Kubernetes = renderedFor
	if !isRendered {
		before.Kubernetes = after.Kubernetes
	}
	return before, after, slices.Concat(warnings, more), err
}

// applied returns objects as Flux applies them. An object with a substitution that fails stays as it is.
func applied(values *flux.PostBuild, objects []manifest.Object, warnings *[]manifest.Problem) []manifest.Object {
	all := make([]manifest.Object, len(objects))
	for i, result := range values.Substitute(objects, nil) {
		all[i] = result.Object
		if result.IsSubstituted {
			all[i].Generator = compare.GeneratorOf(objects[i])
		}
		if result.Err != nil {
			*warnings = append(*warnings, manifest.Problem{Warning: true, File: objects[i].File,
				Message: fmt.Sprintf("%s: compared with its variables, as Flux cannot substitute them: %v", objects[i],
					result.Err)})
		}
	}
	return all
}
