package diff

import (
	"fmt"
	"slices"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source"
)

// isUnrendered reports whether the commit has the sources of an environment and no rendering of it.
func (b *previousRendering) isUnrendered(name string) bool {
	return b.commit != "" && b.listed[name] == nil && b.base.HasEnvironment(name)
}

// A pair is what the renderings of an environment at two revisions share.
type pair struct {
	memo  memo.Memo
	looks source.Looks // of the one now
}

// mayDiffer reports whether a changed file may change a rendering that has looked at some paths: a rendering depends on
// nothing else, but for definitions.
func (b *previousRendering) mayDiffer(looks *source.Looks) bool {
	return b.isDefining() || slices.ContainsFunc(b.changed, isRepository) ||
		b.repository.IsAnyLookedAt(looks, b.here) || b.base.IsAnyLookedAt(looks, b.here)
}

// definesKinds reports whether a changed file has definitions of kinds, which may judge any environment.
func (b *previousRendering) definesKinds() bool {
	return slices.ContainsFunc(b.here, func(name string) bool {
		return source.IsYAML(name) && (b.repository.MayDefine(name) || b.base.MayDefine(name))
	})
}

// readSources renders the sources of an environment at the commit, unless the change leaves alone what they depend on.
// Errors that are there as well are warnings. Errors hide no change of objects that are known.
func (b *previousRendering) readSources(now *render.Environment, shared *pair, step func(string)) (before,
	after compare.Input, isUnbuilt bool, problems []manifest.Problem) {
	was := now
	if b.mayDiffer(&shared.looks) || b.repository.HasOtherEntry(now.Name, b.base) {
		hasWarnings := slices.ContainsFunc(now.Problems, func(p manifest.Problem) bool { return p.Warning })
		was = b.base.Load(now.Name, render.LoadOptions{MayBeGone: true, NoWarnings: !hasWarnings, Memo: &shared.memo,
			Progress: step})
	}
	problems = withoutKnown(now.Problems, was.Problems)
	before.Consumers = was.Consumers()
	after.Consumers = now.Consumers()
	if !isComparable(was) || !isComparable(now) {
		before.Untold = was.Untold()
		after.Untold = now.Untold()
		return before, after, was != now, problems
	}
	before = inputOf(was, &problems)
	after = inputOf(now, &problems)
	if was.Rendering == nil || now.Rendering == nil {
		before.Kubernetes = after.Kubernetes
	}
	return before, after, false, problems
}

// isComparable reports whether the objects of an environment are known, though perhaps refused.
func isComparable(e *render.Environment) bool { return e.Rendering != nil || e.IsBuilt() }

// inputOf returns an environment as Flux applies it or, after an error, with the objects that were judged.
func inputOf(e *render.Environment, problems *[]manifest.Problem) compare.Input {
	r := e.Rendering
	if r == nil {
		return compare.Input{Objects: e.Known(), Deliveries: e.Below(), Charts: e.Sources().Charts, Untold: e.Untold(),
			Consumers: e.Consumers()}
	}
	return compare.Input{Objects: applied(r.PostBuild, r.Objects, problems), Deliveries: r.Deliveries, Charts: r.Charts,
		Kubernetes: r.Index.Kubernetes, Untold: e.Untold(), Consumers: e.Consumers()}
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
		if isOld := isKnown[keyOf(p)]; isOld && p.Warning {
			continue
		} else if isOld {
			p.Warning = true
			p.Code = manifest.OldError
			p.Message = fmt.Sprintf("the base has this error as well: %s", p.Message)
		}
		others = append(others, p)
	}
	return slices.Clip(others)
}
