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
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/verdict"
)

// expand returns what valid objects with defaults are rendered to. It changes the written
// objects where what is committed differs from what was written: it keeps defaults and
// converts old versions.
func (e *environment) expand(checker *verdict.Checker, stored []manifest.Object) (rendered []manifest.Object, problems []manifest.Problem) {
	stored = slices.DeleteFunc(slices.Clone(stored), func(o manifest.Object) bool { return e.kinds.Find(o.GroupVersionKind()) == nil })
	for _, o := range stored {
		e.keepDefaults(o)
	}
	stored, problems = e.convert(checker, stored)
	if manifest.HasErrors(problems) {
		return nil, problems
	}
	expanded := make([][]manifest.Object, len(stored))
	errs := make([]error, len(stored))
	var hangs atomic.Bool // a function that does not return takes a core
	parallel.For(len(stored), func(i int) {
		if hangs.Load() {
			return
		}
		if expanded[i], errs[i] = e.expandObject(checker, stored[i]); errors.Is(errs[i], registry.ErrHangs) {
			hangs.Store(true)
		}
	})
	return slices.Concat(expanded...), append(problems, problemsOfErrors(stored, errs)...)
}

// expandObject returns what an object is rendered to, and annotates what was written with what
// rendered it.
func (e *environment) expandObject(checker *verdict.Checker, stored manifest.Object) (rendered []manifest.Object, err error) {
	result, err := e.kinds.Expand(stored.Unstructured)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, child := range result.Objects {
		if namespaced, known := checker.IsNamespaced(child.GroupVersionKind()); known && !namespaced {
			errs = append(errs, fmt.Errorf("%s %s: it has no namespace in a cluster, and all that is rendered from kind %s has that of its object: write it in the environment by itself",
				child.GetKind(), child.GetName(), stored.GetKind()))
		}
		rendered = append(rendered, manifest.Object{Unstructured: child, Written: stored.Written, Origin: stored.Origin})
	}
	if rendering := result.Rendering.String(); rendering != "" {
		_ = unstructured.SetNestedField(stored.Written.Object, rendering, "metadata", "annotations", registry.RenderingAnnotation)
	}
	return rendered, errors.Join(errs...)
}

// keepDefaults writes the defaults of the environment into a written object that leaves them
// out, for the fields that its kind names: the API server would fill them in once, when the
// object is created, and keep them when the environment says something else.
func (e *environment) keepDefaults(stored manifest.Object) {
	kind := e.kinds.Find(stored.GroupVersionKind())
	for _, name := range kind.KeepDefaults() {
		field := strings.Split(name, ".")
		value, isSet, _ := unstructured.NestedFieldCopy(stored.Object, field...)
		written, _, _ := unstructured.NestedFieldNoCopy(stored.Written.Object, field...)
		if isSet && written == nil {
			_ = unstructured.SetNestedField(stored.Written.Object, value, field...) // a valid object has mappings there
		}
	}
}

// convert returns the objects in the versions that are rendered, with defaults. It changes the
// written objects, too.
func (e *environment) convert(checker *verdict.Checker, stored []manifest.Object) ([]manifest.Object, []manifest.Problem) {
	errs := make([]error, len(stored))
	var problems []manifest.Problem
	var forgetting registry.Forgetting
	for i, o := range stored {
		converted, err := e.kinds.Convert(o.Unstructured)
		if errs[i] = err; converted == nil {
			continue
		}
		written := o.Written.DeepCopy()
		o.Written.Object = converted.Object
		valid, invalid := checker.Objects([]manifest.Object{o.Source()})
		for _, p := range invalid {
			p.Message = "is converted to an invalid " + converted.GetAPIVersion() + ": " + p.Message
			problems = append(problems, p)
		}
		if len(valid) == 0 {
			continue
		}
		for _, path := range forgetting.Fields(e.kinds, o.Unstructured, written, converted, valid[0].Unstructured) {
			p := manifest.NewProblem(o, path, manifest.Value{}, path+": is lost: what it is converted to, "+converted.GetAPIVersion()+", does not depend on it")
			p.Warning = true
			problems = append(problems, p)
		}
		stored[i] = valid[0]
	}
	return stored, append(problems, problemsOfErrors(stored, errs)...)
}

// problemsOfErrors returns the problem of each error, which is that of the object at the same
// index; an error that is joined from several gives one each.
func problemsOfErrors(objects []manifest.Object, errs []error) (problems []manifest.Problem) {
	for i, err := range errs {
		if err == nil {
			continue
		}
		title := objects[i].GetKind() + " " + objects[i].GetName() + ": " // which a problem says anyway
		for _, one := range registry.Errors(err) {
			message := strings.TrimPrefix(one.Error(), title)
			path := leadingField.FindString(message)
			if fieldErr := new(field.Error); errors.As(one, &fieldErr) {
				path = fieldErr.Field
			}
			problems = append(problems, manifest.NewProblem(objects[i], path, manifest.Value{}, message))
		}
	}
	return problems
}

// leadingField matches the path of the field that an error begins with.
var leadingField = regexp.MustCompile(`^(spec|metadata)[.\[][^\s:]*`)
