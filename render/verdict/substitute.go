package verdict

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/problem"
	"example.com/gatehouse/render/verdict/secret"
)

// A Kustomization of Flux with postBuild replaces ${NAME} in each object before it applies it. The
// substituted object is judged; the rendered object keeps ${NAME}.

// SubstituteAnnotation is on the kustomization of an environment if Flux substitutes variables there.
// Its value is a file of ConfigMaps with the values, or UnknownValues.
const SubstituteAnnotation = "gatehouse.example.com/substitute"

// UnknownValues is the value of the annotation if only the cluster has the values.
const UnknownValues = "unknown"

// substituteLabel keeps Flux from substituting variables in an object if it is "disabled", as a label
// or an annotation.
const substituteLabel = "kustomize.toolkit.fluxcd.io/substitute"

// Substitution has the values of the variables in an environment; nil if Flux substitutes none.
type Substitution struct {
	Values map[string]string // nil if they are unknown
}

// judgeSubstituted judges an object as Flux applies it. Its problems are problems of the object.
func (c *Checker) judgeSubstituted(o manifest.Object) (*unstructured.Unstructured, []manifest.Problem) {
	if !c.isSubstituted(o) {
		stored, problems := c.judgeOnce(o)
		return stored, c.explainVariables(o, slices.Clone(problems)) // the memo keeps problems
	}
	substituted, problems := c.substitute(o)
	if !manifest.HasErrors(problems) {
		_, found := c.judge(substituted)
		problems = append(problems, found...)
	}
	for i := range problems {
		problems[i].Subject, problems[i].Object = o, o.String()
	}
	return o.Unstructured, slices.DeleteFunc(problems, func(p manifest.Problem) bool {
		path := manifest.SplitField(p.Field)
		isUnknown := c.Substitution.Values == nil && p.Field != "" && hasVariables(decoding.At(o.Object, path))
		return isUnknown && (!p.Warning || !hasVariables(decoding.At(substituted.Object, path)))
	})
}

// isSubstituted reports whether Flux substitutes variables in an object. Secrets are judged by their
// references, and source objects are rendered before Flux sees them.
func (c *Checker) isSubstituted(o manifest.Object) bool {
	return c.Substitution != nil && c.kinds.Find(o.GroupVersionKind()) == nil && !secret.Is(o.Unstructured) &&
		o.GetAnnotations()[substituteLabel] != "disabled" && o.GetLabels()[substituteLabel] != "disabled" && hasVariables(o.Object)
}

// explainVariables adds a remedy to the errors of fields with variables.
func (c *Checker) explainVariables(o manifest.Object, problems []manifest.Problem) []manifest.Problem {
	for i, p := range problems {
		switch {
		case !isOfVariable(p, o):
		case c.kinds.Find(o.GroupVersionKind()) != nil:
			problems[i].Message += ": " + o.GetKind() + " is rendered before Flux substitutes variables: write the value"
		case c.Substitution == nil && !secret.Is(o.Unstructured):
			problems[i].Message += ": write the value or, where Flux substitutes variables, say so by the annotation " + SubstituteAnnotation + " of the environment's kustomization"
		}
	}
	return problems
}

// isOfVariable reports whether a problem is an error of a field with variables in an object.
func isOfVariable(p manifest.Problem, o manifest.Object) bool {
	return p.Field != "" && !p.Warning && hasVariables(decoding.At(o.Object, manifest.SplitField(p.Field)))
}

// substitute returns an object as Flux applies it. If the values are unknown, it lacks the values
// with variables that have errors.
func (c *Checker) substitute(o manifest.Object) (substituted manifest.Object, problems []manifest.Problem) {
	substituted = o
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		return o, []manifest.Problem{problem.OfObject(o, err.Error())}
	}
	result, missing, err := c.Substitution.eval(string(text))
	content := map[string]any{}
	if err == nil && c.Substitution.Values != nil {
		err = yaml.Unmarshal([]byte(result), &content)
	}
	switch {
	case err != nil && missing != nil:
		return o, []manifest.Problem{problem.OfObject(o, fmt.Sprintf("Flux cannot substitute variables: %v: add it to the file that %s names", missing, SubstituteAnnotation))}
	case err != nil:
		return o, []manifest.Problem{problem.OfObject(o, fmt.Sprintf("Flux cannot substitute variables: %v: write $${ for a ${ that is not a variable, or the annotation %s: disabled", err, substituteLabel))}
	case missing != nil:
		problems = append(problems, problem.FromWarning(o, fmt.Sprintf("%v: add it to the file that %s names, or Flux puts nothing in its place", missing, SubstituteAnnotation)))
	}
	substituted.Unstructured = &unstructured.Unstructured{Object: content}
	if c.Substitution.Values == nil {
		substituted.Unstructured = c.withoutUnknown(o)
	}
	if o.Written == o.Unstructured {
		substituted.Written = substituted.Unstructured
	}
	return substituted, problems
}

// substituteAll returns valid objects as Flux applies them, and the position of a problem with one.
func (c *Checker) substituteAll(objects []manifest.Object, position func(manifest.Problem) string) ([]manifest.Object, func(manifest.Problem) string) {
	if c.Substitution == nil {
		return objects, position
	}
	all, originals := slices.Clone(objects), map[*unstructured.Unstructured]manifest.Object{}
	for i, o := range objects {
		if c.isSubstituted(o) {
			all[i], _ = c.substitute(o)
			originals[all[i].Unstructured] = o
		}
	}
	return all, func(p manifest.Problem) string {
		if o, ok := originals[p.Subject.Unstructured]; ok {
			p.Subject = o
		}
		return position(p)
	}
}

// Unjudged returns the names of objects with values that are not judged because they are unknown.
func (c *Checker) Unjudged(objects []manifest.Object) (names []string) {
	if c.Substitution == nil || c.Substitution.Values != nil {
		return nil
	}
	defer c.kubernetes.Enter()()
	for _, o := range objects {
		if c.isSubstituted(o) && !reflect.DeepEqual(c.withoutUnknown(o).Object, o.Object) {
			names = append(names, o.String())
		}
	}
	return names
}

// eval replaces the variables in a text as Flux does. Missing is an error for a variable that has
// neither a value nor a default: Flux replaces it with nothing.
func (s *Substitution) eval(text string) (result string, missing, err error) {
	template, err := envsubst.Parse(text)
	if err != nil || s.Values == nil {
		return "", nil, err
	}
	_, missing = template.Execute(func(name string) (string, bool) {
		value, exists := s.Values[name]
		return value, exists
	})
	result, err = template.Execute(func(name string) (string, bool) { return s.Values[name], true })
	return result, missing, err
}

// withoutUnknown returns an object without the values with variables that have errors: their type or
// form may be right once they are substituted.
func (c *Checker) withoutUnknown(o manifest.Object) *unstructured.Unstructured {
	rest := o.DeepCopy()
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
		if hasVariables(content) {
			return nil
		}
	case map[string]any:
		for key, value := range content {
			if content[key] = withoutVariables(value); content[key] == nil || hasVariables(key) {
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

// hasVariables reports whether a text or a key in content may have a variable of Flux.
func hasVariables(content any) bool {
	return manifest.Contains(content, func(key string, value any) bool {
		text, _ := value.(string)
		return strings.Contains(key, "${") || strings.Contains(text, "${")
	})
}
