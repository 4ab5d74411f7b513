package render

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verdict"
	"example.com/gatehouse/render/warn"
)

// judge returns the built objects of the environment's own folder as the API server stores them, with defaults, and the
// problems of the objects of all deliveries.
func (e *Environment) judge() (stored []manifest.Object, problems []manifest.Problem) {
	problems = slices.Clone(e.invalid)
	type field struct {
		of   manifest.ID
		name string
	}
	refused := map[field]bool{}
	for _, d := range e.root.open() { // a set before the objects that it makes
		objects, found := d.checker(e.checker).Objects(d.known())
		if d.isEntry() {
			stored = objects
		}
		if d.isSet() && !d.IsFlux { // the API server warns its controller alone, and refuses the set for its template
			found = slices.DeleteFunc(found, func(p manifest.Problem) bool {
				return p.Code == manifest.APIWarning || refused[field{d.InCluster.ID(), "spec.template." + p.Field}]
			})
		}
		for _, p := range found {
			if p.IsError() && p.Subject.Unstructured != nil {
				refused[field{p.Subject.ID(), p.Field}] = true
			}
		}
		problems = append(problems, d.blame(slices.Concat(found, d.withoutNamespace(e.checker)))...)
		for _, p := range d.blame(d.ineffective) {
			if p.Subject.Unstructured == nil || d.isWritten(p.Field) {
				problems = append(problems, p)
			}
		}
	}
	return stored, append(problems, e.root.duplicates(tree.Layout(e.root.known(), e.checker.IsNamespaced))...)
}

// withoutNamespace returns the errors of objects that Flux cannot apply, as it knows no namespace for them
// (ssa/errors/errors.go of fluxcd/pkg).
func (d *Delivery) withoutNamespace(checker *verdict.Checker) (problems []manifest.Problem) {
	by := d.Place
	if d.isEntry() && d.sync != nil {
		by = *d.sync
	}
	if !by.IsFlux || by.TargetNamespace != "" {
		return nil
	}
	write := "write it, or spec.targetNamespace there"
	if d.isSet() {
		write = "write it"
	}
	for _, o := range d.known() {
		isNamespaced, _ := checker.IsNamespaced(o.GroupVersionKind())
		isIgnored := delivery.Find(delivery.Settings(o.Unstructured, delivery.Flux), delivery.Ignored) != nil
		if isNamespaced && o.GetNamespace() == "" && !isIgnored {
			message := fmt.Sprintf("metadata.namespace: namespace not specified: Flux refuses all objects of %s: %s",
				by.Of, write)
			problems = append(problems, manifest.NewProblem(o, "metadata.namespace", manifest.Value{},
				message).As(manifest.MissingNamespace))
		}
	}
	return problems
}

// judgeRendered returns the problems of rendered objects at their cause: in the overrides, if
// these set the field, or else in the source object.
func (e *Environment) judgeRendered(o overridden) (problems []manifest.Problem) {
	_, found := e.checker.Objects(o.objects)
	refused, warned := manifest.SplitProblems(found)
	causes := causes{e.kinds, e.checker, map[manifest.ID][]trial{}}
	known := map[string]bool{}
	for _, p := range slices.Concat(refused, warned) {
		original := p.Subject.Rendered
		switch {
		case original != nil && !isSameField(*original, p):
			p.Object = original.String() // overrides use the name before the hash
			blamed, ok := kustomize.BlameOverride(o.paths, e.root.overrides, p)
			if !ok {
				blamed = e.root.locateInOverrides(p)
			}
			problems = append(problems, blamed)
		case !p.Subject.IsRendered():
			problems = append(problems, p)
		default:
			p = blameSource(p, causes.field(p))
			if cause := p.Object + " " + p.Field; !known[cause] {
				known[cause] = true
				problems = append(problems, p)
			}
		}
	}
	return append(problems, o.forbidden...)
}

// isSameField reports whether the field of a problem has the same value in the original object.
func isSameField(original manifest.Object, p manifest.Problem) bool {
	path := manifest.SplitField(p.Field)
	return reflect.DeepEqual(decoding.At(original.Object, path), decoding.At(p.Subject.Object, path))
}

// admit returns the problems that the admission of a cluster has with valid objects. A problem of an installed
// object is one of its release.
func (e *Environment) admit(objects []manifest.Object) []manifest.Problem {
	refused := e.refused()
	own := e.checker.Applied(objects)
	position := func(p manifest.Problem) string {
		p = blameDeliveries([]manifest.Problem{p})[0]
		p.Subject = p.Subject.Committed()
		return e.root.locate(p).Position()
	}
	all := slices.Clone(own)
	for _, d := range e.root.followed() {
		valid := slices.DeleteFunc(d.known(), func(o manifest.Object) bool { return refused[o.ID()] })
		all = append(all, d.checker(e.checker).Applied(valid)...)
	}
	all = append(all, e.admissible()...)
	problems := blameDeliveries(e.checker.Admit(all, position, warn.IsController))
	for i, p := range problems {
		if p.Subject.Delivery != nil || p.File != "" {
			continue
		}
		problems[i].Subject = p.Subject.Committed()
		if p.Subject.IsRendered() && p.Field != "" && e.root.locate(p).Line == 0 { // no source file has the field
			problems[i] = blameSource(p, "")
		}
	}
	if e.root.postBuild == nil || e.root.postBuild.Values == nil {
		return problems
	}
	return append(problems, e.root.duplicates(tree.Layout(own, e.checker.IsNamespaced))...)
}

func (in *input) duplicates(placed []tree.Placed) (problems []manifest.Problem) {
	for _, p := range placed {
		if p.Taken != nil {
			found := in.duplicate(p)
			found.Warning = IsFolder(in.name) // a cluster takes one after the other, and a file has one
			problems = append(problems, found)
		}
	}
	return problems
}

// blameSource turns a problem of a rendered object into a problem of its source object, at the
// given field if there is one.
func blameSource(p manifest.Problem, field string) manifest.Problem {
	message := "is rendered to an invalid " + p.Object
	switch {
	case p.Warning:
		message = "the API server warns of the rendered " + p.Object
	case field != "":
		message = "makes " + p.Object + " invalid"
	}
	if field != "" {
		message = field + ": " + message
	}
	cause := manifest.NewProblem(p.Subject.Source(), field, manifest.Value{}, message+": "+p.Message).As(p.Code)
	cause.Warning = p.Warning
	return cause
}

// causes finds the fields of source objects that cause problems of their rendered objects.
type causes struct {
	kinds   *registry.Kinds
	checker *verdict.Checker
	trials  map[manifest.ID][]trial // by source object
}

// trial is a source object rendered without one field.
type trial struct {
	field    []string
	problems []manifest.Problem // of the rendered objects
	err      error
}

// field returns the path of the source field that causes a problem of a rendered object; empty if
// no single field does. The kind copies the value of that field, or the problem disappears without it.
func (c causes) field(p manifest.Problem) string {
	owner := p.Subject.Source()
	if path := copiedField(owner.Object, p); path != nil {
		return manifest.JoinField(path)
	}
	if _, isTried := c.trials[owner.ID()]; !isTried {
		c.trials[owner.ID()] = c.tryFields(owner.Object)
	}
	for _, t := range c.trials[owner.ID()] {
		if t.err == nil && !slices.ContainsFunc(t.problems, func(other manifest.Problem) bool {
			return other.Subject.GroupVersionKind() == p.Subject.GroupVersionKind() && other.Field == p.Field &&
				other.Code == p.Code
		}) {
			return manifest.JoinField(t.field)
		}
	}
	return ""
}

// copiedField returns the path of the field in content that a kind copied to the field of a problem:
// its path is the end of that path, and it has the same value, or is a mapping that the kind completes.
// It returns nil if there is no such field.
func copiedField(content map[string]any, p manifest.Problem) []string {
	keys := manifest.SplitField(p.Field)
	value := decoding.At(p.Subject.Object, keys)
	for i, key := range keys {
		if _, err := strconv.Atoi(key); err == nil {
			keys[i] = "[" + key + "]"
		}
	}
	for i := range keys {
		for _, path := range [][]string{keys[i:], append([]string{"spec"}, keys[i:]...)} {
			own := decoding.At(content, path)
			if _, isMapping := own.(map[string]any); len(path) > 1 && own != nil &&
				(isMapping || reflect.DeepEqual(own, value)) {
				return path
			}
		}
	}
	return nil
}

// tryFields renders content without each field of its spec, and without its name: scalars first, as
// they are more specific.
func (c causes) tryFields(content map[string]any) (trials []trial) {
	spec, _ := content["spec"].(map[string]any)
	var scalars, others []trial
	for _, key := range slices.Sorted(maps.Keys(spec)) {
		t := c.try(content, "spec", key)
		switch spec[key].(type) {
		case map[string]any, []any:
			others = append(others, t)
		default:
			scalars = append(scalars, t)
		}
	}
	return slices.Concat(scalars, others, []trial{c.try(content, "metadata", "name")})
}

func (c causes) try(content map[string]any, parent, key string) trial {
	t := trial{field: []string{parent, key}}
	u := (&unstructured.Unstructured{Object: content}).DeepCopy()
	unstructured.RemoveNestedField(u.Object, parent, key)
	result, err := c.kinds.Expand(c.checker.Defaulted(manifest.Object{Unstructured: u, Written: u}))
	if t.err = err; err != nil {
		return t
	}
	for _, child := range result.Objects {
		_ = c.kinds.HashName(child, u) // an invalid name is another problem
		_, problems := c.checker.Objects([]manifest.Object{{Unstructured: child, Written: u}})
		t.problems = append(t.problems, problems...)
	}
	return t
}
