package render

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/flux"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/verdict"
	"example.com/gatehouse/render/verdict/contract"
)

// overridden has the rendered objects of an environment, with overrides and final names.
type overridden struct {
	objects []manifest.Object
	// originals maps each overridden object to its version before the overrides.
	originals map[*unstructured.Unstructured]manifest.Object
	// forbidden are forbidden changes by overrides, and invalid names.
	forbidden []manifest.Problem
}

// override applies the overrides of the environment to rendered objects and completes their names.
func (in *input) override(b built, rendered []manifest.Object) (o overridden, problems []manifest.Problem) {
	objects, originals := rendered, map[*unstructured.Unstructured]manifest.Object(nil)
	if in.overrides != "" {
		result, problems := kustomize.Override(b.paths, in.overrides, rendered)
		if manifest.HasErrors(problems) {
			return o, problems
		}
		objects, originals = slices.Concat(result.Unchanged, result.Changed), result.Before
		for _, p := range contract.Overridden(in.kinds, rendered, objects) {
			o.forbidden = append(o.forbidden, in.locateInOverrides(p))
		}
		_, invalid := verdict.New(nil, in.kinds, in.kubernetes, result.Changed)
		o.forbidden = append(o.forbidden, invalid...)
	}
	named, invalid := in.completeNames(objects)
	o.objects, o.originals, o.forbidden = make([]manifest.Object, len(named)), map[*unstructured.Unstructured]manifest.Object{}, append(o.forbidden, invalid...)
	for i := range named {
		if o.objects[i] = dropEmpty(b.checker, named[i]); o.objects[i].IsRendered() {
			o.objects[i] = flux.Protect(o.objects[i]) // after the hash in the name, which must stay
		}
		if original, isOverridden := originals[objects[i].Unstructured]; isOverridden {
			o.originals[o.objects[i].Unstructured] = original
		}
	}
	all := slices.Concat(rendered, o.objects)
	return o, slices.Concat(kustomize.UnmatchedPatches(b.paths, in.overrides, b.objects, all), kustomize.UnmatchedImages(b.paths, slices.Concat(b.objects, all)))
}

// completeNames gives immutable objects their final names, with a hash.
func (in *input) completeNames(objects []manifest.Object) (named []manifest.Object, problems []manifest.Problem) {
	named = slices.Clone(objects)
	errs := make([]error, len(objects))
	parallel.For(len(objects), func(i int) {
		if in.kinds.IsImmutable(named[i].Unstructured) {
			named[i] = named[i].Copy()
			errs[i] = in.kinds.HashName(named[i].Unstructured, named[i].Written)
		}
	})
	return named, problemsOfErrors(objects, errs)
}
