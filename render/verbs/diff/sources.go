package diff

import (
	"fmt"
	"slices"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
)

// isUnrendered reports whether the commit has the sources of an environment and no rendering of it.
func (b *previousRendering) isUnrendered(name string) bool {
	return b.commit != "" && b.listed[name] == nil && b.base.HasEnvironment(name)
}

// readSources renders the sources of an environment at the commit. Errors that are there as well are warnings, and
// hide no change.
func (b *previousRendering) readSources(name string, now current, step func(string)) (before, after compare.Input,
	problems []manifest.Problem) {
	was := newCurrent(b.base.ExamineOrGone(name, false, step))
	problems = withoutKnown(now.problems, was.problems)
	if manifest.HasErrors(problems) || !was.isComparable() || !now.isComparable() {
		return before, after, problems
	}
	before, after = was.input(&problems), now.input(&problems)
	if now.rendering != nil {
		before.Charts = b.charts(now.rendering)
	}
	if was.rendering == nil || now.rendering == nil {
		before.Kubernetes = after.Kubernetes
	}
	return before, after, problems
}

// isComparable reports whether the objects of an environment are known, though perhaps refused.
func (c current) isComparable() bool { return c.rendering != nil || c.examined.IsBuilt() }

// input returns the objects of a rendering or, after an error, the objects that were judged.
func (c current) input(problems *[]manifest.Problem) compare.Input {
	if c.rendering == nil {
		return compare.Input{Objects: c.examined.Judged()}
	}
	return inputOf(c.rendering, problems)
}

// inputOf returns a rendering as Flux applies it.
func inputOf(r *render.Rendering, problems *[]manifest.Problem) compare.Input {
	return compare.Input{Objects: applied(r.PostBuild, r.Objects, problems), Installed: r.Installed, Charts: r.Charts,
		Kubernetes: r.Index.Kubernetes}
}

// withoutKnown returns problems without the warnings that are among known ones, and with their errors as warnings.
func withoutKnown(problems, known []manifest.Problem) []manifest.Problem {
	type key struct{ file, object, field, message string }
	keyOf := func(p manifest.Problem) key { return key{p.File, p.Object, p.Field, p.Message} }
	isKnown := map[key]bool{}
	for _, p := range known {
		isKnown[keyOf(p)] = true
	}
	var others []manifest.Problem
	for _, p := range problems {
		switch {
		case !isKnown[keyOf(p)]:
			others = append(others, p)
		case p.IsError():
			p.Warning, p.Code = true, compare.OldError
			p.Message = fmt.Sprintf("the base has this error as well: %s", p.Message)
			others = append(others, p)
		}
	}
	return slices.Clip(others)
}
