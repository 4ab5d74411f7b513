package render

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/verdict"
	"example.com/gatehouse/render/verdict/contract"
	"example.com/gatehouse/render/watchdog"
)

// expanded has the objects of an environment before its overrides.
type expanded struct {
	// sources are the source objects as they are committed: in rendered versions, with kept
	// defaults and the annotation of their rendering.
	sources []manifest.Object
	// stored are the same objects as the API server stores them.
	stored []manifest.Object
	// rendered are the rendered objects, in the order of their sources.
	rendered []manifest.Object
}

// expand renders valid objects. Stored are the built objects with their defaults.
func (c *common) expand(checker *verdict.Checker, built, stored []manifest.Object) (e expanded,
	problems []manifest.Problem) {
	e.sources, e.stored = make([]manifest.Object, len(built)), slices.Clone(stored)
	for i, o := range built {
		e.sources[i] = o
		if c.isSource(o) {
			e.sources[i] = c.withDefaults(o, stored[i])
		}
	}
	converted, problems := c.convert(checker, &e)
	children, errs := make([][]manifest.Object, len(built)), make([]error, len(built))
	var hangs atomic.Bool // a function that does not return takes a core
	parallel.For(len(built), func(i int) {
		defer fault.Catch(&errs[i])
		if hangs.Load() || !converted[i] {
			return
		}
		e.sources[i], children[i], errs[i] = c.expandObject(checker, e.sources[i], e.stored[i])
		if errors.Is(errs[i], registry.ErrHangs) {
			hangs.Store(true)
		}
		e.stored[i].Written = e.sources[i].Unstructured
	})
	e.rendered = slices.Concat(children...)
	return e, append(problems, problemsOfErrors(e.stored, errs)...)
}

// isSource reports whether an object is of a kind that is rendered to others.
func (c *common) isSource(o manifest.Object) bool { return c.kinds.Find(o.GroupVersionKind()) != nil }

// expandObject returns an object as it is committed, and its rendered objects.
func (c *common) expandObject(checker *verdict.Checker, o, stored manifest.Object) (committed manifest.Object,
	rendered []manifest.Object, err error) {
	if !c.isSource(stored) {
		return dropEmpty(checker, o), nil, nil
	}
	defer watchdog.Part(func() manifest.Problem { return manifest.Problem{Object: stored.String()} })()
	result, err := c.kinds.Expand(stored.Unstructured)
	if err != nil {
		return o, nil, err
	}
	if rendering := result.Rendering.String(); rendering != "" {
		o = o.Copy()
		_ = unstructured.SetNestedField(o.Object, rendering, "metadata", "annotations", registry.RenderingAnnotation)
	}
	o = flux.Protect(dropEmpty(checker, o)) // Flux would give the cluster another spec than the rendered one
	var errs []error
	for _, child := range result.Objects {
		if namespaced, known := checker.IsNamespaced(child.GroupVersionKind()); known && !namespaced {
			errs = append(errs,
				fmt.Errorf("%s %s: it has no namespace in a cluster, and all that is rendered from kind %s has that "+
					"of its object: write it in the environment by itself",
					child.GetKind(), child.GetName(), stored.GetKind()))
		}
		rendered = append(rendered, manifest.Object{Unstructured: child, Written: o.Unstructured, Origin: o.Origin})
	}
	return o, rendered, errors.Join(errs...)
}

// withDefaults returns a built object with the defaults of the fields that its kind names. The
// API server would fill them in once, when it creates the object, and keep them when the environment
// changes its defaults.
func (c *common) withDefaults(o, stored manifest.Object) manifest.Object {
	for _, name := range c.kinds.Find(o.GroupVersionKind()).KeepDefaults() {
		field := strings.Split(name, ".")
		value, isSet, _ := unstructured.NestedFieldCopy(stored.Object, field...)
		if own, _, _ := unstructured.NestedFieldNoCopy(o.Object, field...); isSet && own == nil {
			o = o.Copy()
			_ = unstructured.SetNestedField(o.Object, value, field...) // a valid object has mappings there
		}
	}
	return o
}

// dropEmpty returns an object without the empty values that the API server drops.
func dropEmpty(checker *verdict.Checker, o manifest.Object) manifest.Object {
	if checker.MayDropEmpty(o) {
		o = o.Copy()
		checker.DropEmpty([]manifest.Object{o})
	}
	return o
}

// convert converts the source objects of e, and their stored versions, to the versions that are
// rendered, and reports which have these.
func (c *common) convert(checker *verdict.Checker, e *expanded) (are []bool, problems []manifest.Problem) {
	errs := make([]error, len(e.stored))
	are = make([]bool, len(e.stored))
	for i, o := range e.stored {
		are[i] = true
		if !c.isSource(o) {
			continue
		}
		converted, err := c.kinds.Convert(o.Unstructured)
		errs[i] = err
		if converted == nil {
			are[i] = err == nil
			continue
		}
		e.sources[i] = manifest.Object{Unstructured: converted, Written: converted, Origin: e.sources[i].Origin}
		valid, invalid := checker.Objects(e.sources[i : i+1])
		for _, p := range invalid {
			p.Message = "is converted to an invalid " + converted.GetAPIVersion() + ": " + p.Message
			problems = append(problems, p)
		}
		are[i] = len(valid) > 0
		if are[i] {
			e.stored[i] = valid[0]
		}
	}
	return are, append(problems, problemsOfErrors(e.stored, errs)...)
}

// problemsOfErrors returns the problems of errors, each about the object with its index. A joined
// error becomes one problem for each of its errors.
func problemsOfErrors(objects []manifest.Object, errs []error) (problems []manifest.Problem) {
	for i, o := range objects {
		title := o.GetKind() + " " + o.GetName() + ": " // a problem begins with it anyway
		for _, one := range registry.Errors(errs[i]) {
			message := strings.TrimPrefix(one.Error(), title)
			path := leadingField.FindString(message)
			if fieldErr := new(field.Error); errors.As(one, &fieldErr) {
				path = fieldErr.Field
			}
			p := manifest.NewProblem(o, path, manifest.Value{}, message)
			problems = append(problems, p.As(manifest.InvalidObject))
		}
	}
	return problems
}

// leadingField matches the field path at the start of an error.
var leadingField = regexp.MustCompile(`^(spec|metadata)[.\[][^\s:]*`)

// overridden has the rendered objects of an environment, with overrides and final names.
type overridden struct {
	paths   *kustomize.Paths
	objects []manifest.Object
	// forbidden are forbidden changes by overrides, and invalid names.
	forbidden []manifest.Problem
	// areFinal reports whether the overrides are applied, if there are any.
	areFinal bool
}

// override applies the overrides of the environment to rendered objects and completes their names.
func (e *Environment) override(rendered []manifest.Object) (o overridden, problems []manifest.Problem) {
	objects := rendered
	o.paths = e.root.paths
	if e.root.overrides != "" {
		result, problems := kustomize.Override(e.root.paths, e.root.overrides, rendered)
		if manifest.HasErrors(problems) {
			o.objects, _ = e.completeNames(rendered)
			return o, problems
		}
		objects = slices.Concat(result.Unchanged, result.Changed)
		for _, p := range contract.Overridden(e.kinds, rendered, objects) {
			o.forbidden = append(o.forbidden, e.root.locateInOverrides(p))
		}
		_, invalid := verdict.New(nil, e.kinds, e.kubernetes, result.Changed)
		o.forbidden = append(o.forbidden, invalid...)
	}
	named, invalid := e.completeNames(objects)
	o.objects = make([]manifest.Object, len(named))
	o.forbidden = append(o.forbidden, invalid...)
	for i := range named {
		o.objects[i] = dropEmpty(e.checker, named[i])
		if o.objects[i].IsRendered() {
			o.objects[i] = flux.Protect(o.objects[i]) // after the hash in the name, which must stay
		}
	}
	o.areFinal = true
	if e.options.NoWarnings || len(e.root.sources.Absent) > 0 {
		return o, nil
	}
	return o, kustomize.Ineffective(e.root.paths, e.root.overrides, e.root.known(), slices.Concat(rendered, o.objects))
}

// completeNames gives immutable objects their final names, with a hash.
func (c *common) completeNames(objects []manifest.Object) (named []manifest.Object, problems []manifest.Problem) {
	named = slices.Clone(objects)
	errs := make([]error, len(objects))
	parallel.For(len(objects), func(i int) {
		if c.kinds.IsImmutable(named[i].Unstructured) {
			named[i] = named[i].Copy()
			errs[i] = c.kinds.HashName(named[i].Unstructured, named[i].Written)
		}
	})
	return named, problemsOfErrors(objects, errs)
}

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
	e := &Environment{common: &common{kinds: kinds}, built: built{root: &Delivery{}, checker: checker}}
	expanded, found := e.expand(checker, objects, stored)
	problems = append(problems, found...)
	if manifest.HasErrors(found) {
		return RenderedObject{}, problems
	}
	named, found := e.completeNames(expanded.rendered)
	problems = append(problems, e.judgeRendered(overridden{objects: named, forbidden: found})...)
	return RenderedObject{expanded.sources[0], expanded.stored[0], named}, problems
}
