package render

import (
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict"
)

// RenderedObject is one object with its rendered objects.
type RenderedObject struct {
	// Source is the object as it is committed.
	Source manifest.Object
	// Stored is the object as the API server stores it: with defaults, in the version that is
	// rendered.
	Stored manifest.Object
	// Objects are its rendered objects.
	Objects []manifest.Object
}

// OneObject renders one object of a kind by the stages of an environment, without a
// kustomization, overrides, Pod Security and policies.
func OneObject(kinds *registry.Kinds, o manifest.Object) (RenderedObject, []manifest.Problem) {
	checker, problems := verdict.New(nil, kinds, 0, nil)
	objects := []manifest.Object{o}
	stored, refused := checker.Objects(objects)
	if problems = append(problems, refused...); manifest.HasErrors(problems) {
		return RenderedObject{}, problems
	}
	in := &input{kinds: kinds}
	expanded, found := in.expand(checker, objects, stored)
	if problems = append(problems, found...); manifest.HasErrors(found) {
		return RenderedObject{}, problems
	}
	named, found := in.completeNames(expanded.rendered)
	problems = append(problems, in.judgeRendered(checker, overridden{objects: named, forbidden: found})...)
	return RenderedObject{expanded.sources[0], expanded.stored[0], named}, problems
}
