package verdict

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
)

// checkBuiltin finds why the API server would refuse an object of a built-in kind, and
// what it would warn about.
func checkBuiltin(o manifest.Object, kubernetes apiserver.Version) []manifest.Problem {
	served, ok := kubernetes.Lookup(o.GroupVersionKind())
	if !ok {
		return problemsOf(o, field.ErrorList{notServed(o.GroupVersionKind(), kubernetes)})
	}
	decoded, problems := decode(o, served)
	if len(problems) > 0 {
		return problems
	}
	return creationProblems(o, served, decoded)
}

// creationProblems returns why the API server would not store a decoded object, or what it
// would warn about.
func creationProblems(o manifest.Object, served apiserver.Kind, decoded kind.Object) []manifest.Problem {
	errs, warnings := served.Create(decoded)
	problems := problemsOf(o, withoutVaguer(errs))
	for _, warning := range warnings {
		problems = append(problems, warningOf(o, warning))
	}
	return problems
}

// withoutVaguer returns errors without those that say less than another one of the same field:
// that it is required, or a shorter list of supported values.
func withoutVaguer(errs field.ErrorList) field.ErrorList {
	ofField := map[string]field.ErrorList{}
	for _, err := range errs {
		ofField[err.Field] = append(ofField[err.Field], err)
	}
	return slices.DeleteFunc(errs, func(err *field.Error) bool {
		return slices.ContainsFunc(ofField[err.Field], func(other *field.Error) bool {
			if other.Type == field.ErrorTypeRequired {
				return err.Type != field.ErrorTypeRequired
			}
			return other.Type == field.ErrorTypeNotSupported && err.Type == other.Type && len(other.Detail) < len(err.Detail)
		})
	})
}

// notServed returns the error of a kind or version that the API server does not serve, which
// says what to write instead.
func notServed(gvk schema.GroupVersionKind, kubernetes apiserver.Version) *field.Error {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	if versions := kubernetes.APIVersions(gvk.GroupKind()); len(versions) > 0 {
		return field.Invalid(field.NewPath("apiVersion"), apiVersion, fmt.Sprintf("has no %s in Kubernetes %s: write %s", kind, kubernetes, strings.Join(versions, " or ")))
	}
	if later := kubernetes.LaterKind(gvk); later != "" {
		return field.Invalid(field.NewPath("kind"), kind, fmt.Sprintf("%s has no such kind: %s", apiVersion, later))
	}
	if known := apiserver.KindNames(gvk.Group); manifest.DidYouMean(kind, known) != "" {
		return field.Invalid(field.NewPath("kind"), kind, fmt.Sprintf("%s has no such kind%s", apiVersion, manifest.DidYouMean(kind, known)))
	}
	return field.Invalid(field.NewPath("kind"), kind, fmt.Sprintf("Kubernetes %s keeps no such objects of %s: remove it", kubernetes, apiVersion))
}
