package render

import (
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict"
)

// problemOfSpec returns a problem with a rendered object as one with a field of what it was
// rendered from, or with all of that where the field is empty.
func problemOfSpec(p manifest.Problem, field string) manifest.Problem {
	what := "is rendered to an invalid " + p.Object
	switch {
	case p.Warning:
		what = "the API server warns of the rendered " + p.Object
	case field != "":
		what = "makes " + p.Object + " invalid"
	}
	if field != "" {
		what = field + ": " + what
	}
	cause := manifest.NewProblem(p.Subject.Source(), field, manifest.Value{}, what+": "+p.Message)
	cause.Warning = p.Warning
	return cause
}

// specs finds the fields of specs that make what is rendered from them invalid.
type specs struct {
	kinds   *registry.Kinds
	checker *verdict.Checker
	tries   map[*unstructured.Unstructured]int // how often each object was rendered for it
}

// mostTries bounds how often one object is rendered to find its invalid fields.
const mostTries = 50

// sourceField returns the path of the field without which a problem with a rendered object is
// gone; empty where none alone causes it.
func (s specs) sourceField(p manifest.Problem) string {
	written := p.Subject.Written
	for _, path := range candidates(written.Object, p.Field) {
		if s.tries[written]++; s.tries[written] > mostTries {
			return ""
		}
		if s.isGone(p, without(written.Object, path)) {
			return manifest.JoinField(path)
		}
	}
	return ""
}

// candidates returns the paths in content that may cause a problem with a field of what is
// rendered from it: those that end like the path of the field, as kinds pass many fields on
// as they are, and the fields of the spec, scalars first.
func candidates(content map[string]any, field string) (paths [][]string) {
	keys := manifest.SplitField(field)
	for i, key := range keys {
		if _, err := strconv.Atoi(key); err == nil {
			keys[i] = "[" + key + "]"
		}
	}
	for i := range keys {
		for _, path := range [][]string{keys[i:], append([]string{"spec"}, keys[i:]...)} {
			if path[0] != "kind" && path[0] != "apiVersion" && len(path) > 1 && decoding.At(content, path) != nil {
				paths = append(paths, path)
			}
		}
	}
	spec, _ := content["spec"].(map[string]any)
	var scalars, others [][]string
	for _, key := range slices.Sorted(maps.Keys(spec)) {
		switch path := []string{"spec", key}; spec[key].(type) {
		case map[string]any, []any:
			others = append(others, path)
		default:
			scalars = append(scalars, path)
		}
	}
	return slices.Concat(paths, scalars, others, [][]string{{"metadata", "name"}})
}

// isGone reports whether what is rendered from content does not have a problem.
func (s specs) isGone(p manifest.Problem, content map[string]any) bool {
	u := &unstructured.Unstructured{Object: content}
	rendered, err := s.kinds.Expand(s.checker.Defaulted(manifest.Object{Unstructured: u, Written: u}))
	if err != nil {
		return false
	}
	for _, child := range rendered.Objects {
		if child.GroupVersionKind() != p.Subject.GroupVersionKind() {
			continue
		}
		_ = s.kinds.HashName(child, u) // a name that cannot be made is another problem
		_, problems := s.checker.Objects([]manifest.Object{{Unstructured: child, Written: u}})
		if slices.ContainsFunc(problems, func(other manifest.Problem) bool { return other.Field == p.Field && other.Message == p.Message }) {
			return false
		}
	}
	return true
}

// without returns a copy of content without the value at a path, or with an empty item of a list.
func without(content map[string]any, path []string) map[string]any {
	rest := runtime.DeepCopyJSON(content)
	decoding.Replace(rest, path, nil)
	return rest
}
