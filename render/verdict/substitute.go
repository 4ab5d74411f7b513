package verdict

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/flux"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/problem"
	"example.com/gatehouse/render/verdict/secret"
)

// The substituted object is judged; the rendered object keeps its variables.

// substitute returns objects as Flux applies them. Secrets are judged by their references. Source
// objects are rendered before Flux sees them, and it leaves them and their rendered objects alone.
func (c *Checker) substitute(objects []manifest.Object) []flux.Result {
	return c.PostBuild.Substitute(objects, func(o manifest.Object) bool {
		return c.kinds.Find(o.GroupVersionKind()) != nil || o.IsRendered() || secret.Is(o.Unstructured)
	})
}

// objectsOf returns the objects of results.
func objectsOf(results []flux.Result) []manifest.Object {
	objects := make([]manifest.Object, len(results))
	for i := range results {
		objects[i] = results[i].Object
	}
	return objects
}

// judgeSubstituted judges an object as Flux applies it. Its problems are problems of the object.
func (c *Checker) judgeSubstituted(o manifest.Object, applied flux.Result) (*unstructured.Unstructured, []manifest.Problem) {
	if !applied.IsSubstituted {
		stored, problems := c.judgeOnce(o)
		return stored, c.explainVariables(o, slices.Clone(problems)) // the memo keeps problems
	}
	substituted, problems := applied.Object, substitutionProblems(o, applied)
	if !manifest.HasErrors(problems) {
		if c.PostBuild.Values == nil {
			substituted = c.withoutUnknown(o)
		}
		_, found := c.judge(substituted)
		problems = append(problems, found...)
	}
	for i := range problems {
		problems[i].Subject, problems[i].Object = o, o.String()
	}
	return o.Unstructured, slices.DeleteFunc(problems, func(p manifest.Problem) bool {
		path := manifest.SplitField(p.Field)
		isUnknown := c.PostBuild.Values == nil && p.Field != "" && flux.HasVariables(decoding.At(o.Object, path))
		return isUnknown && (!p.Warning || !flux.HasVariables(decoding.At(substituted.Object, path)))
	})
}

// substitutionProblems returns the problems of the substitution itself.
func substitutionProblems(o manifest.Object, applied flux.Result) (problems []manifest.Problem) {
	if applied.Missing != nil {
		problems = append(problems, problem.FromWarning(o, fmt.Sprintf("%v: add it to the file that %s names, or Flux puts nothing in its place", applied.Missing, flux.Annotation)))
	}
	switch {
	case applied.Err != nil && applied.Missing != nil && !errors.Is(applied.Err, flux.ErrTooLarge):
		return []manifest.Problem{problem.OfObject(o, fmt.Sprintf("Flux cannot substitute variables: %v: add it to the file that %s names", applied.Missing, flux.Annotation))}
	case errors.Is(applied.Err, flux.ErrTooLarge):
		problems = append(problems, problem.OfObject(o, fmt.Sprintf("Flux cannot substitute variables: %v", applied.Err)))
	case applied.Err != nil:
		problems = append(problems, problem.OfObject(o, fmt.Sprintf("Flux cannot substitute variables: %v: write $${ for a ${ that is not a variable, or the annotation %s: %s", applied.Err, flux.Switch, flux.Off)))
	case applied.GroupVersionKind() != o.GroupVersionKind() || hasVariableType(o):
		problems = append(problems, problem.OfObject(o, "Flux would substitute variables in its apiVersion or kind: write them without variables, as render judges an object by its kind"))
	}
	return problems
}

// hasVariableType reports whether the apiVersion or kind of an object may depend on variables.
func hasVariableType(o manifest.Object) bool {
	for key := range o.Object {
		if flux.HasVariables(key) {
			return true
		}
	}
	return flux.HasVariables(o.GetAPIVersion()) || flux.HasVariables(o.GetKind())
}

// explainVariables adds a remedy to the errors of fields with variables.
func (c *Checker) explainVariables(o manifest.Object, problems []manifest.Problem) []manifest.Problem {
	for i, p := range problems {
		switch {
		case !isOfVariable(p, o):
		case c.kinds.Find(o.GroupVersionKind()) != nil || o.IsRendered():
			problems[i].Message += ": " + o.GetKind() + " is rendered before Flux substitutes variables: write the value"
		case c.PostBuild == nil && !secret.Is(o.Unstructured):
			problems[i].Message += ": write the value or, where Flux substitutes variables, say so by the annotation " + flux.Annotation + " of the environment's kustomization"
		}
	}
	return problems
}

// isOfVariable reports whether a problem is an error of a field with variables in an object.
func isOfVariable(p manifest.Problem, o manifest.Object) bool {
	return p.Field != "" && !p.Warning && flux.HasVariables(decoding.At(o.Object, manifest.SplitField(p.Field)))
}

// Applied returns valid objects as Flux applies them, and the originals of the substituted ones.
func (c *Checker) Applied(objects []manifest.Object) (all []manifest.Object, originals map[*unstructured.Unstructured]manifest.Object) {
	if c.PostBuild == nil {
		return objects, nil
	}
	defer c.kubernetes.Enter()()
	all, originals = slices.Clone(objects), map[*unstructured.Unstructured]manifest.Object{}
	for i, applied := range c.substitute(objects) {
		if applied.IsSubstituted {
			if all[i] = applied.Object; c.PostBuild.Values == nil {
				all[i] = c.withoutUnknown(objects[i])
			}
			originals[all[i].Unstructured] = objects[i]
		}
	}
	return all, originals
}

// Unjudged returns the names of objects with values that are not judged because they are unknown.
func (c *Checker) Unjudged(objects []manifest.Object) (names []string) {
	if c.PostBuild == nil || c.PostBuild.Values != nil {
		return nil
	}
	defer c.kubernetes.Enter()()
	for _, applied := range c.substitute(objects) {
		if o := applied.Object; applied.IsSubstituted && !reflect.DeepEqual(c.withoutUnknown(o).Object, o.Object) {
			names = append(names, o.String())
		}
	}
	return names
}

// withoutUnknown returns an object without the values with variables that have errors: their type or
// form may be right once they are substituted.
func (c *Checker) withoutUnknown(o manifest.Object) manifest.Object {
	rest := o.Copy()
	_, problems := c.judge(manifest.Object{Unstructured: o.Unstructured, Written: o.Unstructured, Origin: o.Origin})
	for _, p := range problems {
		if isOfVariable(p, o) {
			path := manifest.SplitField(p.Field)
			decoding.Replace(rest.Object, path, withoutVariables(decoding.At(rest.Object, path)))
		}
	}
	return rest
}

// withoutVariables returns content without the texts and keys that have variables; nil for such a
// text.
func withoutVariables(content any) any {
	switch content := content.(type) {
	case string:
		if flux.HasVariables(content) {
			return nil
		}
	case map[string]any:
		for key, value := range content {
			if content[key] = withoutVariables(value); content[key] == nil || flux.HasVariables(key) {
				delete(content, key)
			}
		}
	case []any:
		for i := range content {
			content[i] = withoutVariables(content[i])
		}
	}
	return content
}
