package render

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/verdict"
)

// expand returns what valid objects with defaults are rendered to. It changes the written
// objects where what is committed differs from what was written: it keeps defaults and
// converts old versions.
func (e *environment) expand(checker *verdict.Checker, stored []manifest.Object) (rendered []manifest.Object, problems []manifest.Problem) {
	for _, o := range stored {
		e.keepDefaults(o)
	}
	stored, problems = e.convert(checker, stored)
	if len(problems) > 0 {
		return nil, problems
	}
	expanded := make([][]manifest.Object, len(stored))
	errs := make([]error, len(stored))
	parallel.For(len(stored), func(i int) {
		children, err := e.kinds.Expand(stored[i].Unstructured)
		errs[i] = err
		for _, child := range children {
			expanded[i] = append(expanded[i], manifest.Object{Unstructured: child, Written: stored[i].Written, Origin: stored[i].Origin})
		}
	})
	return slices.Concat(expanded...), problemsOfErrors(stored, errs)
}

// keepDefaults writes the defaults of the environment into a written object that leaves them
// out, for the fields that its kind names: the API server would fill them in once, when the
// object is created, and keep them when the environment says something else.
func (e *environment) keepDefaults(stored manifest.Object) {
	kind := e.kinds.Find(stored.GroupVersionKind())
	if kind == nil {
		return
	}
	for _, name := range kind.KeepDefaults {
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
	for i, o := range stored {
		converted, err := e.kinds.Convert(o.Unstructured)
		if errs[i] = err; converted == nil {
			continue
		}
		o.Written.Object = converted.Object
		valid, invalid := checker.Objects([]manifest.Object{o.Source()})
		for _, p := range invalid {
			p.Message = "is converted to an invalid " + converted.GetAPIVersion() + ": " + p.Message
			problems = append(problems, p)
		}
		if len(valid) > 0 {
			stored[i] = valid[0]
		}
	}
	return stored, append(problems, problemsOfErrors(stored, errs)...)
}

// problemsOfErrors returns the problem of each error, which is that of the object at the same
// index; an error that is joined from several gives one each.
func problemsOfErrors(objects []manifest.Object, errs []error) (problems []manifest.Problem) {
	for i, err := range errs {
		title := objects[i].GetKind() + " " + objects[i].GetName() + ": " // which a problem says anyway
		for _, one := range unjoin(err) {
			message := strings.TrimPrefix(one.Error(), title)
			problems = append(problems, manifest.NewProblem(objects[i], leadingField.FindString(message), manifest.Value{}, message))
		}
	}
	return problems
}

// leadingField matches the path of the field that an error begins with.
var leadingField = regexp.MustCompile(`^(spec|metadata)[.\[][^\s:]*`)

// unjoin returns the errors joined in err; none if err is nil.
func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}
