// Package warn finds what the API server accepts and that may yet not be what was meant. Each
// rule has a file, or is of a kind. A rule says nothing where it cannot be sure: people ignore
// warnings that are often wrong.
package warn

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
)

// ElsewhereAnnotation is an annotation of kustomizations. Its value lists objects that an
// environment needs and something else brings, as problems name them: "Namespace monitoring,
// Deployment shop/web".
const ElsewhereAnnotation = "gatehouse.example.com/elsewhere"

// Environment is a rendered environment.
type Environment struct {
	// Kinds are those that people may write.
	Kinds *registry.Kinds
	// Objects are all objects: those that people wrote and what they are rendered to.
	Objects []manifest.Object
	// Local are CustomResourceDefinitions that are known and that something else brings.
	Local []manifest.Object
	// IsNamespaced reports whether objects of a kind are in a namespace, and whether the kind is
	// known.
	IsNamespaced func(schema.GroupVersionKind) (namespaced, known bool)
	// Elsewhere are the values of ElsewhereAnnotation.
	Elsewhere []string
	// Now is when the environment is rendered; zero for no warnings that depend on it.
	Now time.Time

	controllers []manifest.Object // those of Objects for which IsController is true
}

// Warnings returns the warnings of all rules, without files and lines, and an error for each kind
// whose own rule panics.
func (e Environment) Warnings() (warnings []manifest.Problem) {
	for _, o := range e.Objects {
		if IsController(o) {
			e.controllers = append(e.controllers, o)
		}
	}
	rules := []func(Environment) []manifest.Problem{
		missingNamespaces, definitionsOfCharts, missingController, missingGatePolicy, unpinnedController, scaledTwice, ofKinds,
	}
	found := make([][]manifest.Problem, len(rules))
	parallel.For(len(rules), func(i int) { found[i] = rules[i](e) })
	return slices.Concat(found...)
}

// ofKinds returns the warnings of the kinds themselves.
func ofKinds(e Environment) (warnings []manifest.Problem) {
	hasOwn := func(k kind.Kind) bool { return k.HasWarnings() }
	if !slices.ContainsFunc(e.Kinds.All, hasOwn) {
		return nil
	}
	written := map[manifest.ID]manifest.Object{}
	for _, o := range e.Objects {
		if e.Kinds.Find(o.GroupVersionKind()) != nil {
			written[o.ID()] = o
		}
	}
	for _, v := range e.Kinds.Views(kind.Environment{All: untyped(e.Objects), Now: e.Now}, untyped(e.Local)) {
		found, err := v.Warnings()
		if err != nil {
			warnings = append(warnings, manifest.Problem{Message: err.Error()})
		}
		for _, w := range found {
			o, ok := written[manifest.ID{Group: v.Kind.GVK().Group, Kind: v.Kind.GVK().Kind, Namespace: w.Object.GetNamespace(), Name: w.Object.GetName()}]
			if !ok {
				continue // it is not of the environment
			}
			value, _, _ := unstructured.NestedFieldNoCopy(o.Object, manifest.SplitField(w.Field)...)
			warnings = append(warnings, warning(o, w.Field, value, "%s", w.Message))
		}
	}
	return warnings
}

func untyped(objects []manifest.Object) []*unstructured.Unstructured {
	all := make([]*unstructured.Unstructured, len(objects))
	for i, o := range objects {
		all[i] = o.Unstructured
	}
	return all
}

// warning returns a warning about a field of an object that has a value.
func warning(o manifest.Object, field string, value any, format string, args ...any) manifest.Problem {
	message := fmt.Sprintf(format, args...)
	if field != "" {
		message = field + ": " + message
	}
	w := manifest.NewProblem(o, field, manifest.Value{Is: value}, message)
	w.Warning = true
	return w
}

// isElsewhere reports whether an annotation says that something else brings an object.
func (e Environment) isElsewhere(id manifest.ID) bool {
	for _, list := range e.Elsewhere {
		for entry := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == '\n' }) {
			if strings.Join(strings.Fields(entry), " ") == id.String() {
				return true
			}
		}
	}
	return false
}
