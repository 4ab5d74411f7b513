package verdict

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/verdict/problem"
)

// The substituted object is judged; the rendered object keeps its variables.

// substitute returns objects as Flux applies them, but for the values of Secrets, which are judged by
// their references. If the values of variables are unknown, it takes their defaults. Source objects are
// rendered before Flux sees them, and it leaves them and their rendered objects alone.
func (c *Checker) substitute(objects []manifest.Object) []flux.Result {
	results := c.PostBuild.Substitute(withoutSecrets(objects), func(o manifest.Object) bool {
		return c.kinds.Find(o.GroupVersionKind()) != nil || o.IsRendered()
	})
	parallel.For(len(results), func(i int) {
		r := &results[i]
		if !r.IsSubstituted {
			r.Object = objects[i]
			return
		}
		if c.PostBuild.Values == nil && r.Err == nil {
			r.Object = flux.WithDefaults(r.Object)
		}
		if manifest.IsSecret(objects[i].Unstructured) {
			r.Object = withSecrets(r.Object, objects[i])
		}
	})
	return results
}

// withoutSecrets returns objects without the values of Secrets.
func withoutSecrets(objects []manifest.Object) []manifest.Object {
	objects = slices.Clone(objects)
	for i, o := range objects {
		if manifest.IsSecret(o.Unstructured) {
			objects[i] = withSecrets(o, manifest.Object{Unstructured: &unstructured.Unstructured{}})
		}
	}
	return objects
}

// withSecrets returns a Secret with the values of another one.
func withSecrets(o, other manifest.Object) manifest.Object {
	isWritten := o.Written == o.Unstructured
	o.Unstructured = &unstructured.Unstructured{Object: maps.Clone(o.Object)}
	if isWritten {
		o.Written = o.Unstructured
	}
	for _, name := range manifest.SecretFields {
		delete(o.Object, name)
		if values, ok := other.Object[name]; ok {
			o.Object[name] = values
		}
	}
	return o
}

func objectsOf(results []flux.Result) []manifest.Object {
	objects := make([]manifest.Object, len(results))
	for i := range results {
		objects[i] = results[i].Object
	}
	return objects
}

// judgeSubstituted judges an object as Flux applies it. Its problems are problems of the object.
func (c *Checker) judgeSubstituted(o manifest.Object, applied flux.Result) (*unstructured.Unstructured,
	[]manifest.Problem) {
	if !applied.IsSubstituted {
		stored, problems := c.judgeOnce(o)
		return stored, c.explainVariables(o, slices.Clone(problems)) // the memo keeps problems
	}
	substituted := applied.Object
	problems := substitutionProblems(c.PostBuild, o, applied)
	switch {
	case manifest.HasErrors(problems):
	case c.PostBuild.Values == nil:
		rest := c.withoutUnknown(applied.Object)
		substituted = rest.Object
		problems = append(problems, c.nameVariables(o, rest.problems(c))...)
	default:
		_, found := c.judge(substituted)
		problems = append(problems, c.nameVariables(o, found)...)
	}
	for i := range problems {
		problems[i].Subject = o
		problems[i].Object = o.String()
	}
	return o.Unstructured, slices.DeleteFunc(problems, func(p manifest.Problem) bool {
		if c.PostBuild.Values != nil {
			return false
		}
		// The API server derives a field that is not there from others, such as a targetPort.
		isDerived := p.Code == metav1.CauseTypeFieldValueInvalid &&
			decoding.At(applied.Object.Object, manifest.SplitField(p.Field)) == nil
		return isDerived || isOfVariable(p, applied.Object) && (!p.Warning || !isOfVariable(p, substituted))
	})
}

// nameVariables adds the variables of an object in git that set the fields of problems.
func (c *Checker) nameVariables(o manifest.Object, problems []manifest.Problem) []manifest.Problem {
	problems = slices.Clone(problems) // the memo keeps them
	for i, p := range problems {
		content := decoding.At(o.Object, manifest.SplitField(p.Field))
		names := flux.VariablesIn(content)
		if len(names) == 0 || !isOfVariable(p, o) {
			continue
		}
		from := "the default of the variable " + strings.Join(names, ", ")
		hasNoDefault := func(name string) bool {
			return manifest.Contains(content, func(_ string, value any) bool {
				text, _ := value.(string)
				return strings.Contains(text, "${"+name+"}")
			})
		}
		if slices.ContainsFunc(names, hasNoDefault) {
			from = "the variable " + strings.Join(names, ", ") + ", which has neither a value nor a default"
		}
		set := slices.DeleteFunc(names, func(name string) bool {
			_, isSet := c.PostBuild.Values[name]
			return !isSet
		})
		if len(set) > 0 {
			from = "the variable " + strings.Join(set, ", ") + " of " + c.PostBuild.Place()
		}
		problems[i].Message += "; set by " + from
		if text, isText := content.(string); isText && p.Value.ShouldBeText && len(text) < longestExample {
			problems[i].Message += fmt.Sprintf(": kustomize drops the quotes around it, so write two kinds, '\"%s\"'",
				strings.Trim(text, `"`))
		}
	}
	return problems
}

// longestExample bounds the text that a remedy repeats.
const longestExample = 100

func substitutionProblems(values *flux.PostBuild, o manifest.Object,
	applied flux.Result) (problems []manifest.Problem) {
	missing := applied.Missing
	if values != nil && values.Unset == flux.LeavesEmpty {
		missing = nil
	}
	for _, use := range missing {
		refuses := "Flux refuses all objects"
		mayRefuse := values.Unset == flux.MayRefuse && applied.Err == nil
		if mayRefuse {
			refuses = "Flux 2.9 and later refuse all objects, and others put nothing in its place"
		}
		p := useProblem(o, use, fmt.Sprintf("the variable %s is not set, so %s: add it to %s, write a default as in "+
			"${%[1]s:=value}, or $${ for a ${ that is not for Flux", use.Name, refuses, values.Place()))
		p.Cause = "missing variable " + use.Name
		p.Warning = mayRefuse
		problems = append(problems, p)
	}
	for _, use := range applied.Joined {
		p := useProblem(o, use, fmt.Sprintf("the variable %s has several lines in %s, and Flux removes the ends of "+
			"lines: take a ConfigMap or Secret for a certificate or a file", use.Name, values.Place()))
		p.Warning = true
		problems = append(problems, p)
	}
	const remedy = "write $${ for a ${ that is not a variable, or the annotation " + flux.Switch + ": " + flux.Off
	switch {
	case len(missing) > 0 && !errors.Is(applied.Err, flux.ErrTooLarge):
	case applied.Culprit != nil:
		name := applied.Culprit.Name
		problems = append(problems, useProblem(o, *applied.Culprit, fmt.Sprintf("with the value of %s the object is "+
			"no YAML, as kustomize drops the quotes around a variable: quote the value, as in %[1]s: '\"%s\"'", name,
			strings.ReplaceAll(values.Values[name], `"`, `\"`))))
	case errors.Is(applied.Err, flux.ErrTooLarge):
		problems = append(problems,
			problem.OfObject(o, fmt.Sprintf("Flux cannot substitute variables: %v", applied.Err)))
	case applied.Unreadable != nil:
		field := manifest.JoinField(applied.Unreadable.Field)
		problems = append(problems, manifest.NewProblem(o, field, manifest.Value{Contains: applied.Unreadable.Name},
			fmt.Sprintf("%s: Flux cannot read %s: %v; a name has only letters, digits and underscores: %s", field,
				applied.Unreadable.Name, applied.Err, remedy)).As(manifest.InvalidVariable))
	case applied.Err != nil:
		problems = append(problems,
			problem.OfObject(o, fmt.Sprintf("Flux cannot substitute variables: %v: %s", applied.Err, remedy)))
	case applied.GroupVersionKind() != o.GroupVersionKind() || hasVariableType(o):
		problems = append(problems,
			problem.OfObject(o,
				"Flux would substitute variables in its apiVersion or kind: write them without variables, as render "+
					"judges an object by its kind"))
	}
	return problems
}

// useProblem returns a problem with a variable in a text.
func useProblem(o manifest.Object, use flux.Use, message string) manifest.Problem {
	field := manifest.JoinField(use.Field)
	p := manifest.NewProblem(o, field, manifest.Value{Contains: "${" + use.Name}, field+": "+message)
	return p.As(manifest.InvalidVariable)
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
		case p.Warning || !isOfVariable(p, o):
		case c.kinds.Find(o.GroupVersionKind()) != nil || o.IsRendered():
			problems[i].Message += ": " + o.GetKind() +
				" is rendered before Flux substitutes variables: write the value"
		case c.PostBuild == nil:
			problems[i].Message += ": write the value or, where Flux substitutes variables, say so by the annotation " +
				flux.Annotation + " of the environment's kustomization"
		case c.PostBuild.In != "" && len(c.PostBuild.Values) == 0:
			problems[i].Message += ": write the value, or set a variable in " + c.PostBuild.In +
				": without any Flux substitutes nothing"
		}
	}
	return problems
}

// isOfVariable reports whether a problem is with a value that has variables in an object. An unknown
// field is no such problem, nor is a value of a Secret, which is judged as it is.
func isOfVariable(p manifest.Problem, o manifest.Object) bool {
	path := manifest.SplitField(p.Field)
	isValueOfSecret := manifest.IsSecret(o.Unstructured) && len(path) > 0 &&
		slices.Contains(manifest.SecretFields, path[0])
	if len(path) == 0 || p.Code == manifest.FieldUnknown || isValueOfSecret {
		return false
	}
	// the API server's path may lead nowhere
	return flux.HasVariables(decoding.At(o.Object, path)) || flux.HasVariables(p.Value.Is)
}

// Applied returns valid objects as Flux applies them.
func (c *Checker) Applied(objects []manifest.Object) []manifest.Object {
	if c.PostBuild == nil {
		return objects
	}
	defer c.kubernetes.Enter()()
	all := slices.Clone(objects)
	for i, applied := range c.substitute(objects) {
		if !applied.IsSubstituted {
			continue
		}
		all[i] = applied.Object
		if c.PostBuild.Values == nil {
			all[i] = c.withoutUnknown(applied.Object).Object
		}
		all[i].InGit = &objects[i]
	}
	return all
}

// Unjudged returns the names of objects with values that are not judged because they are unknown.
func (c *Checker) Unjudged(objects []manifest.Object) (names []string) {
	if c.PostBuild == nil || c.PostBuild.Values != nil {
		return nil
	}
	defer c.kubernetes.Enter()()
	for _, applied := range c.substitute(objects) {
		if o := applied.Object; applied.IsSubstituted && len(c.withoutUnknown(o).removed) > 0 {
			names = append(names, o.String())
		}
	}
	return names
}

// judgeable is an object without the values that have errors and variables: their type or form may be
// right once they are substituted.
type judgeable struct {
	manifest.Object
	removed [][]string         // the paths of the values
	before  []manifest.Problem // of the object with the values
	trials  []manifest.Object  // the object with each supported value of an enum in place of a removed one
}

func (c *Checker) withoutUnknown(o manifest.Object) judgeable {
	_, before := c.judge(manifest.Object{Unstructured: o.Unstructured, Written: o.Unstructured, Origin: o.Origin})
	rest := judgeable{Object: o.Copy(), before: before}
	for _, p := range before {
		if p.Code != manifest.APIWarning && isOfVariable(p, o) { // a warning may be of another release's definition
			path := manifest.SplitField(p.Field)
			if value := decoding.At(rest.Object.Object, path); value != nil {
				decoding.Replace(rest.Object.Object, path, withoutVariables(value))
				rest.removed = append(rest.removed, path)
			}
		}
	}
	for _, p := range before {
		if !isOfVariable(p, o) {
			continue
		}
		for _, value := range p.Supported {
			trial := rest.Copy()
			decoding.Replace(trial.Object, manifest.SplitField(p.Field), value)
			rest.trials = append(rest.trials, trial)
		}
	}
	return rest
}

// problems returns the problems of the object, without errors that a removed value causes by its
// absence, or that a supported value in its place corrects.
func (j judgeable) problems(c *Checker) []manifest.Problem {
	_, problems := c.judge(j.Object)
	for _, trial := range j.trials {
		_, found := c.judge(trial)
		problems = slices.DeleteFunc(slices.Clone(problems), func(p manifest.Problem) bool {
			return !slices.ContainsFunc(found, func(other manifest.Problem) bool {
				return other.Field == p.Field && other.Message == p.Message
			})
		})
	}
	return slices.DeleteFunc(slices.Clone(problems), func(p manifest.Problem) bool {
		isOld := slices.ContainsFunc(j.before, func(other manifest.Problem) bool {
			return other.Field == p.Field && other.Message == p.Message
		})
		return p.IsError() && !isOld && slices.ContainsFunc(j.removed, func(path []string) bool {
			return isOfAbsence(p, path)
		})
	})
}

// isOfAbsence reports whether an error may be of the absence of the value at a path: of an object or list
// around it, or of a missing field there.
func isOfAbsence(p manifest.Problem, removed []string) bool {
	path := manifest.SplitField(p.Field)
	if n := len(path); n > 1 && p.Code == metav1.CauseTypeFieldValueRequired {
		path = path[:n-1]
	}
	return p.Field != "" && len(path) <= len(removed) && slices.Equal(path, removed[:len(path)])
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
