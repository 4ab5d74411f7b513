// Package upgrade judges environments as another version of Kubernetes would, beside the version that each
// environment is for.
package upgrade

import (
	"slices"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/verbs/diff"
)

// Environment is the difference of two verdicts on an environment.
type Environment struct {
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"`
	// Errors and Warnings are problems in the version after only, and Gone problems in the version before
	// only.
	Errors   []Problem          `json:"errors"`
	Warnings []manifest.Problem `json:"warnings"`
	Gone     []manifest.Problem `json:"gone"`
	// Stored are objects that the versions store with other fields. It is empty if there are errors in
	// the sources.
	Stored []Object `json:"stored"`
}

// Problem is an error of the version after.
type Problem struct {
	manifest.Problem
	// MayStay reports whether the version accepts updates of an object that exists already, unless they
	// change the field.
	MayStay bool `json:"mayStay"`
}

// Object is an object with the fields that two versions store otherwise.
type Object struct {
	manifest.Problem
	Fields []diff.FieldChange `json:"fields"`
}

// IsEqual reports whether the verdicts are the same.
func (e *Environment) IsEqual() bool {
	return len(e.Errors)+len(e.Warnings)+len(e.Gone)+len(e.Stored) == 0
}

// Run compares the verdicts on environments. It calls progress with each step.
func Run(repository *render.Repository, selection render.Selection, version string, progress func(environment, step string)) ([]*Environment, error) {
	if err := render.CheckKubernetes(version); err != nil {
		return nil, err
	}
	names, err := repository.Select(selection)
	if err != nil {
		return nil, err
	}
	var all []*Environment
	for _, name := range names {
		repository.Memo = &memo.Memo{} // both verdicts are on the same built objects
		e, err := compare(repository, name, version, func(step string) { progress(name, step) })
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func compare(repository *render.Repository, name, version string, progress func(step string)) (*Environment, error) {
	before, err := render.Examine(repository, name, progress)
	if err != nil {
		return nil, err
	}
	after, err := render.Examine(repository.For(version), name, progress)
	if err != nil {
		return nil, err
	}
	e := &Environment{Name: name, Before: before.Kubernetes(), After: version, Errors: []Problem{}, Warnings: []manifest.Problem{}, Stored: []Object{}}
	for _, p := range without(after.Problems, before.Problems) {
		if p.Warning {
			e.Warnings = append(e.Warnings, p)
		} else {
			e.Errors = append(e.Errors, Problem{p, p.Subject.Unstructured != nil && after.MayStay(p.Subject)})
		}
	}
	e.Gone = without(before.Problems, after.Problems)
	if !manifest.HasErrors(before.Problems) {
		e.Stored = stored(before, after)
	}
	return e, nil
}

// without returns the problems that are not among others.
func without(problems, others []manifest.Problem) []manifest.Problem {
	known := map[string]bool{}
	for _, p := range others {
		known[p.String()] = true
	}
	return slices.DeleteFunc(append([]manifest.Problem{}, problems...), func(p manifest.Problem) bool { return known[p.String()] })
}

// stored returns the objects that the versions of two examinations store with other fields.
func stored(before, after *render.Examination) []Object {
	objects := make([]manifest.Object, len(before.Objects))
	for i, o := range before.Objects {
		objects[i] = o.Object
	}
	all := []Object{}
	was, is := before.Stored(objects), after.Stored(objects)
	for i, o := range objects {
		if was[i] == nil || is[i] == nil {
			continue // a version does not have its kind, which is an error
		}
		if fields := (diff.Change{Before: was[i], After: is[i]}).Fields(); len(fields) > 0 {
			p := before.Locate(o)
			p.Object = o.String()
			all = append(all, Object{p, fields})
		}
	}
	return all
}
