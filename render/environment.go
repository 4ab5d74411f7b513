package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// baseFolder is the folder under environments/ that environments build on.
const baseFolder = "base"

var environmentName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// selectEnvironments are the names of the environments to render, each once.
func selectEnvironments(t *tree, options Options) ([]string, error) {
	var errs []error
	names := slices.Clone(options.Environments)
	if options.All {
		all, err := Environments(options.Root)
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("%s/ has no environment: make a folder there with a kustomization.yaml", environmentsFolder)
		}
		errs = append(errs, err)
		names = append(names, all...)
	}
	for _, name := range names {
		if !environmentName.MatchString(name) {
			errs = append(errs, fmt.Errorf("%q is not the name of an environment: write a folder of %s/, in lower case letters, digits and '-'", name, environmentsFolder))
		} else if name == baseFolder {
			errs = append(errs, fmt.Errorf("%s/%s is what environments build on: render those", environmentsFolder, baseFolder))
		}
	}
	if options.All {
		old, err := renderedBefore(t)
		errs = append(errs, err)
		names = append(names, old...)
	}
	slices.Sort(names)
	return slices.Compact(names), errors.Join(errs...)
}

// Environments are the names of the environments of the folder that holds
// environments/: its folders with a kustomization, but for base and components.
func Environments(root string) ([]string, error) {
	t, err := openTree(root)
	if err != nil {
		return nil, err
	}
	defer t.disk.Close()
	entries, err := fs.ReadDir(t.disk.FS(), environmentsFolder)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		dir := path.Join("/", environmentsFolder, entry.Name())
		if entry.Name() != baseFolder && t.isBuildable(dir) {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// renderedBefore are the names of the environments that were rendered before.
func renderedBefore(t *tree) ([]string, error) {
	entries, err := fs.ReadDir(t.disk.FS(), renderedFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, entry := range entries {
		index, err := t.ReadFile(path.Join("/", renderedFolder, entry.Name(), indexFile))
		if err == nil && isIndex(index) && environmentName.MatchString(entry.Name()) && entry.Name() != baseFolder {
			names = append(names, entry.Name())
		}
	}
	return names, err
}

// renderEnvironment renders one environment: build, validate, expand, override,
// validate, arrange. Of one that may be gone, and is, nothing is left.
func renderEnvironment(t *tree, name string, mayBeGone bool, progress func(environment, step string)) *environment {
	e := &environment{name: name}
	dir := path.Join("/", environmentsFolder, name)
	if !t.Exists(dir) {
		if !mayBeGone {
			e.problems = []Problem{{File: relative(dir), Message: "no such environment: make a folder of that name with a kustomization.yaml"}}
		}
		return e
	}
	dir, _, err := t.resolve(dir)
	if err != nil {
		e.problems = []Problem{{File: relative(dir), Message: err.Error()}}
		return e
	}
	s := &sources{tree: t, visited: map[string]bool{}, documents: map[string][]document{}, isManifest: map[string]bool{}}
	progress(name, "building")
	objects := s.build(dir)
	progress(name, "validating")
	v := newValidator(objects, s.report)
	stored := s.validate(v, objects)
	for _, o := range objects {
		for _, err := range posing(o) {
			s.report(o, err)
		}
	}

	progress(name, "expanding")
	rendered, err := expand(stored)
	if err != nil {
		s.problem(dir, 0, "%v", err)
	}
	rendered = s.override(v, path.Join(dir, "overrides"), rendered)
	if err := seal(rendered); err != nil {
		s.problem(dir, 0, "%v", err)
	}
	if len(s.problems) == 0 {
		e.files, s.problems = arrange(slices.Concat(objects, rendered), v.kinds)
	}
	e.problems = sortProblems(s.problems)
	return e
}

// build builds a folder. Where it cannot be built, it builds what can be, so that
// the problems of the rest are found too.
func (s *sources) build(dir string) []object {
	kustomization := s.tree.kustomizationFile(dir)
	if kustomization == "" {
		s.problem(dir, 0, "no kustomization.yaml: write one that lists the resources of the environment")
		return nil
	}
	if !s.walk(dir) {
		return nil
	}
	s.lint()
	objects, err := build(s.tree, dir, kustomization)
	if len(s.problems) == 0 && err != nil {
		s.problems = append(s.problems, s.explain(kustomization, err))
	}
	if len(s.problems) == 0 && len(objects) == 0 {
		s.problem(kustomization, 0, "builds to nothing: list resources")
	}
	return objects
}

// override builds what was rendered with the environment's overrides, if it has
// any, and checks what comes of it.
func (s *sources) override(v *validator, dir string, rendered []object) []object {
	if !s.tree.Exists(dir) {
		return rendered
	}
	if s.tree.kustomizationFile(dir) == "" {
		s.problem(dir, 0, "no kustomization.yaml: write one of kind Component")
		return rendered
	}
	s.walk(dir)
	if len(s.problems) > 0 {
		return rendered // an override of half of the objects misses the others
	}
	kustomization := s.tree.kustomizationFile(dir)
	overridden, err := override(s.tree, dir, rendered)
	if err != nil {
		s.problems = append(s.problems, s.explain(kustomization, err))
		return rendered
	}
	s.validate(v, overridden)
	for i, errs := range contractErrors(rendered, overridden) {
		of := object{&unstructured.Unstructured{}, kustomization}
		if i >= 0 {
			of.Unstructured = overridden[i].Unstructured
		}
		for _, err := range errs {
			s.report(of, err)
		}
	}
	return overridden
}

// validate returns the valid objects, defaults filled in, and reports the others.
func (s *sources) validate(v *validator, objects []object) []object {
	var valid []object
	first := map[string]object{}
	for _, o := range objects {
		if other, ok := first[o.id()]; ok {
			s.report(o, field.Duplicate(nil, "it is in "+relative(other.origin)+" as well: remove or rename one"))
			continue
		}
		first[o.id()] = o
		stored, errs := v.check(o.Unstructured)
		for _, err := range errs {
			s.report(o, err)
		}
		if len(errs) == 0 {
			valid = append(valid, object{stored, o.origin})
		}
	}
	return valid
}

// report notes an error of an object as a problem, with its file and line.
func (s *sources) report(o object, err *field.Error) {
	at, is := err.Field, written(err.BadValue)
	switch {
	case isRoot(at):
		at, is = "", nil
	case err.Type == field.ErrorTypeTypeInvalid:
		is = ofType(err.BadValue)
	case err.Type == field.ErrorTypeForbidden, err.Type == field.ErrorTypeRequired:
		is = nil // the error is of the field, whatever its value
	}
	file, line := s.locate(o, at, is)
	s.problems = append(s.problems, Problem{File: file, Line: line, Object: o.String(), Message: message(err)})
}

// ofType is the test for a value of a JSON type: what errors of a wrong type know
// of the value.
func ofType(name any) test {
	tags := map[any]string{"string": "!!str", "integer": "!!int", "number": "!!int !!float", "bool": "!!bool", "boolean": "!!bool", "object": "!!map", "array": "!!seq", "null": "!!null"}
	tag, ok := tags[name]
	if !ok {
		return nil
	}
	return func(node *yaml.Node) bool { return strings.Contains(tag, node.ShortTag()) }
}
