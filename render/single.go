package render

import (
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict"
)

// Single is what rendering makes of one object by itself: no kustomization, no overrides, and no
// other object that Pod Security or policies depend on.
type Single struct {
	// Stored is the object as the API server stores it, with defaults, in the version that is
	// rendered.
	Stored manifest.Object
	// Objects are what it is rendered to.
	Objects []manifest.Object
}

// Judge returns an object as the API server stores it, in the version in which it is written, and
// what is wrong with it.
func Judge(kinds *registry.Kinds, o manifest.Object) (stored []manifest.Object, problems []manifest.Problem) {
	_, stored, problems = judgeOne(kinds, o)
	return stored, problems
}

func judgeOne(kinds *registry.Kinds, o manifest.Object) (*verdict.Checker, []manifest.Object, []manifest.Problem) {
	checker, problems := verdict.New(nil, kinds, 0, nil)
	stored, refused := checker.Objects([]manifest.Object{o})
	return checker, stored, append(problems, refused...)
}

// One renders one object of a kind by itself, by the same stages as an environment.
func One(kinds *registry.Kinds, o manifest.Object) (Single, []manifest.Problem) {
	checker, stored, problems := judgeOne(kinds, o)
	if manifest.HasErrors(problems) {
		return Single{}, problems
	}
	e := &environment{kinds: kinds}
	expanded, found := e.expand(checker, stored)
	if problems = append(problems, found...); manifest.HasErrors(found) {
		return Single{}, problems
	}
	named := overridden{objects: expanded, forbidden: e.completeNames(expanded)}
	return Single{stored[0], expanded}, append(problems, e.judgeRendered(checker, named)...)
}
