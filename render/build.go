package render

import (
	"slices"

	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verdict"
)

// built is what kustomize makes of an environment.
type built struct {
	objects []manifest.Object
	// ways say how objects got into it.
	ways *kustomize.Ways
	// local are the CustomResourceDefinitions that something else brings to the cluster.
	local []manifest.Object
	// checker judges by the CustomResourceDefinitions of both, and
	checker *verdict.Checker
	// invalid is what is wrong with these.
	invalid []manifest.Problem
}

// build builds the environment.
func (e *environment) build() (b built, problems []manifest.Problem) {
	b.ways = kustomize.FindWays(e.sources, e.folder)
	all, problems := b.ways.Build(e.parts)
	for _, o := range all {
		if !keepLocalConfig(o) {
			b.objects = append(b.objects, o)
		} else if o.GetKind() == "CustomResourceDefinition" {
			b.local = append(b.local, o)
		}
	}
	b.checker, b.invalid = verdict.New(e.kinds, e.kubernetes, slices.Concat(b.objects, b.local))
	if e.substitution != nil {
		b.checker.Substitution = &e.substitution.Substitution
	}
	b.ways.SetImages(b.objects, b.checker.Default)
	return b, problems
}

// keepLocalConfig reports whether an object is local config, and otherwise gives the annotation
// its own name back.
func keepLocalConfig(o manifest.Object) bool {
	annotations := o.GetAnnotations()
	value, ok := annotations[source.KeptConfig]
	if !ok {
		return false
	}
	if value != "false" {
		return true
	}
	delete(annotations, source.KeptConfig)
	annotations[source.LocalConfig] = value
	o.SetAnnotations(annotations)
	return false
}

// judge returns the objects as the API server would store them, with defaults, and what is
// wrong with them.
func (e *environment) judge(b built) (stored []manifest.Object, problems []manifest.Problem) {
	stored, problems = b.checker.Objects(b.objects)
	return stored, slices.Concat(b.invalid, problems, e.duplicates(tree.Layout(b.objects, b.checker.IsNamespaced)))
}
