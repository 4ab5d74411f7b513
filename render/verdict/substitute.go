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
)

// Flux replaces ${NAME} in an object before it applies the object, where its Kustomization says so by
// postBuild. What it applies is judged; what is rendered keeps ${NAME}.

// SubstituteAnnotation is on the kustomization of an environment whose objects Flux substitutes
// variables in. Its value is the file with the ConfigMaps that have their values, or UnknownValues.
const SubstituteAnnotation = "gatehouse.example.com/substitute"

// UnknownValues is the value of the annotation where only the cluster has the values.
const UnknownValues = "unknown"

// substituteLabel tells Flux to leave an object as it is, where it is "disabled", as a label or an
// annotation.
const substituteLabel = "kustomize.toolkit.fluxcd.io/substitute"

// Substitution is what Flux does to the objects of an environment; nil where it substitutes nothing.
type Substitution struct {
	// Values are those of the variables; nil where they are not known.
	Values map[string]string
}

// judgeSubstituted judges an object as Flux applies it. The problems are those of the object itself.
func (c *Checker) judgeSubstituted(o manifest.Object) (*unstructured.Unstructured, []manifest.Problem) {
	if !c.isSubstituted(o) || !hasVariables(o.Object) {
		stored, problems := c.judgeOnce(o)
		return stored, c.explainVariables(o, slices.Clone(problems)) // which the memo keeps
	}
	applied, problems := c.applied(o)
	if !manifest.HasErrors(problems) {
		_, wrong := c.judge(applied)
		problems = append(problems, wrong...)
	}
	for i := range problems {
		problems[i].Subject, problems[i].Object = o, o.String()
	}
	return o.Unstructured, slices.DeleteFunc(problems, func(p manifest.Problem) bool {
		path := manifest.SplitField(p.Field) // with unknown values, what is wrong there follows from what was removed
		return p.Field != "" && c.Substitution.Values == nil && hasVariables(decoding.At(o.Object, path)) && !hasVariables(decoding.At(applied.Object, path))
	})
}

// isSubstituted reports whether Flux substitutes variables in an object. The values of a Secret are
// judged as references, and what people write is rendered before Flux sees it.
func (c *Checker) isSubstituted(o manifest.Object) bool {
	return c.Substitution != nil && c.written.Find(o.GroupVersionKind()) == nil && !isSecret(o.Unstructured) &&
		o.GetAnnotations()[substituteLabel] != "disabled" && o.GetLabels()[substituteLabel] != "disabled"
}

// explainVariables returns problems with what to do where a variable causes one.
func (c *Checker) explainVariables(o manifest.Object, problems []manifest.Problem) []manifest.Problem {
	for i, p := range problems {
		switch {
		case p.Field == "" || p.Warning || !hasVariables(decoding.At(o.Object, manifest.SplitField(p.Field))):
		case c.written.Find(o.GroupVersionKind()) != nil:
			problems[i].Message += ": " + o.GetKind() + " is rendered before Flux substitutes variables: write the value"
		case c.Substitution == nil && !isSecret(o.Unstructured):
			problems[i].Message += ": write the value or, where Flux substitutes variables, say so by the annotation " + SubstituteAnnotation + " of the environment's kustomization"
		}
	}
	return problems
}

// applied returns an object as Flux applies it, as far as that is known: without the values whose
// variables are not known and that would be refused as they are.
func (c *Checker) applied(o manifest.Object) (applied manifest.Object, problems []manifest.Problem) {
	applied = o
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		return o, []manifest.Problem{invalid(o, err.Error())}
	}
	result, missing, err := c.Substitution.eval(string(text))
	content := map[string]any{}
	if err == nil && c.Substitution.Values != nil {
		err = yaml.Unmarshal([]byte(result), &content)
	}
	switch {
	case err != nil && missing != nil:
		return o, []manifest.Problem{invalid(o, fmt.Sprintf("Flux cannot substitute variables: %v: add it to the file that %s names", missing, SubstituteAnnotation))}
	case err != nil:
		return o, []manifest.Problem{invalid(o, fmt.Sprintf("Flux cannot substitute variables: %v: write $${ for a ${ that is none, or the annotation %s: disabled", err, substituteLabel))}
	case missing != nil:
		problems = append(problems, warningOf(o, fmt.Sprintf("%v: add it to the file that %s names, or Flux puts nothing in its place", missing, SubstituteAnnotation)))
	}
	applied.Unstructured = &unstructured.Unstructured{Object: content}
	if c.Substitution.Values == nil {
		applied.Unstructured = c.withoutUnknown(o)
	}
	if o.Written == o.Unstructured {
		applied.Written = applied.Unstructured
	}
	return applied, problems
}

// allApplied returns valid objects as Flux applies them, and where a problem with one of these is found.
func (c *Checker) allApplied(objects []manifest.Object, position func(manifest.Problem) string) ([]manifest.Object, func(manifest.Problem) string) {
	if c.Substitution == nil {
		return objects, position
	}
	all, written := slices.Clone(objects), map[*unstructured.Unstructured]manifest.Object{}
	for i, o := range objects {
		if c.isSubstituted(o) && hasVariables(o.Object) {
			all[i], _ = c.applied(o)
			written[all[i].Unstructured] = o
		}
	}
	return all, func(p manifest.Problem) string {
		if o, ok := written[p.Subject.Unstructured]; ok {
			p.Subject = o
		}
		return position(p)
	}
}

// Unjudged returns the names of objects some of whose values are not judged, as they are not known.
func (c *Checker) Unjudged(objects []manifest.Object) (names []string) {
	if c.Substitution == nil || c.Substitution.Values != nil {
		return nil
	}
	defer c.kubernetes.Enter()()
	for _, o := range objects {
		if c.isSubstituted(o) && hasVariables(o.Object) && !reflect.DeepEqual(c.withoutUnknown(o).Object, o.Object) {
			names = append(names, o.String())
		}
	}
	return names
}

// eval replaces the variables in a text, as Flux does. Missing is an error for one that has neither a
// value nor a default, in the place of which Flux puts nothing.
func (s *Substitution) eval(text string) (result string, missing, err error) {
	template, err := envsubst.Parse(text)
	if err != nil || s.Values == nil {
		return "", nil, err
	}
	lookup := func(name string) (string, bool) {
		value, isThere := s.Values[name]
		return value, isThere
	}
	_, missing = template.Execute(lookup)
	result, err = template.Execute(func(name string) (string, bool) { return s.Values[name], true })
	return result, missing, err
}

// withoutUnknown returns an object without the values that have variables and that would be refused.
func (c *Checker) withoutUnknown(o manifest.Object) *unstructured.Unstructured {
	rest := manifest.Object{Unstructured: o.DeepCopy(), Origin: o.Origin}
	rest.Written = rest.Unstructured
	for range mostRemovals {
		_, problems := c.judge(rest)
		problems = slices.DeleteFunc(problems, func(p manifest.Problem) bool {
			return p.Field == "" || p.Warning || !hasVariables(decoding.At(rest.Object, manifest.SplitField(p.Field)))
		})
		if len(problems) == 0 {
			break
		}
		for _, p := range problems {
			path := manifest.SplitField(p.Field)
			decoding.Replace(rest.Object, path, withoutVariables(decoding.At(rest.Object, path)))
		}
	}
	return rest.Unstructured
}

// mostRemovals bounds how often an object is judged to find the values that would be refused.
const mostRemovals = 10

// withoutVariables returns content without the texts and keys in it that have variables, nil for one.
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

// hasVariables reports whether a text in content has what Flux may take for a variable.
func hasVariables(content any) bool {
	switch content := content.(type) {
	case string:
		return strings.Contains(content, "${")
	case map[string]any:
		for key, value := range content {
			if strings.Contains(key, "${") || hasVariables(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(content, hasVariables)
	}
	return false
}
