package render

import (
	"slices"

	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
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
	all, problems := b.ways.Build(e.memo)
	for _, o := range all {
		if o, isLocal := keepLocalConfig(o); !isLocal {
			b.objects = append(b.objects, o)
		} else if o.GetKind() == "CustomResourceDefinition" {
			b.local = append(b.local, o)
		}
	}
	b.checker, b.invalid = verdict.New(e.memo, e.kinds, e.kubernetes, slices.Concat(b.objects, b.local))
	if e.substitution != nil {
		b.checker.Substitution = &e.substitution.Substitution
	}
	b.ways.SetImages(b.objects, b.checker.Default)
	return b, problems
}

// keepLocalConfig reports whether an object is local config, and otherwise returns it with the
// annotation by its own name.
func keepLocalConfig(o manifest.Object) (kept manifest.Object, isLocal bool) {
	annotations := o.GetAnnotations()
	value, ok := annotations[source.KeptConfig]
	if !ok || value != "false" {
		return o, ok
	}
	delete(annotations, source.KeptConfig)
	annotations[source.LocalConfig] = value
	o = o.Copy()
	o.SetAnnotations(annotations)
	return o, false
}

// copyChanging copies the built objects that later stages change, as the memo keeps what was built.
// Stored are the same objects with defaults.
func (s *stages) copyChanging(stored []manifest.Object) {
	if s.memo == nil {
		return
	}
	objects := s.built.objects
	parallel.For(len(objects), func(i int) {
		if s.kinds.Find(objects[i].GroupVersionKind()) != nil || s.checker.MayDropEmpty(objects[i]) {
			objects[i] = objects[i].Copy()
			stored[i].Written = objects[i].Unstructured
		}
	})
}

// judge returns the objects as the API server would store them, with defaults, and what is
// wrong with them.
func (e *environment) judge(b built) (stored []manifest.Object, problems []manifest.Problem) {
	stored, problems = b.checker.Objects(b.objects)
	return stored, slices.Concat(b.invalid, problems, e.duplicates(tree.Layout(b.objects, b.checker.IsNamespaced)))
}
