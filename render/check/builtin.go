package check

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/render/check/apiserver"
	"example.com/gatehouse/render/object"
)

// checkBuiltin finds why the API server would refuse an object of a built-in kind, and
// what it would warn about.
func checkBuiltin(o object.Object) []object.Problem {
	kind, ok := apiserver.Lookup(o.GroupVersionKind())
	if !ok {
		return problemsOf(o, field.ErrorList{notServed(o.GroupVersionKind())})
	}
	decoded, problems := decode(o, kind)
	return append(problems, verdict(o, kind, decoded)...)
}

// verdict finds why the API server would not store an object, and what it would warn
// about. Of one that cannot be read as a whole these are the errors that do not depend on
// the values that cannot.
func verdict(o object.Object, kind apiserver.Kind, decoded decoded) []object.Problem {
	if decoded.rest == nil {
		return nil
	}
	errs, warnings := kind.Create(decoded.rest)
	others := errs
	if decoded.others != nil {
		others, _ = kind.Create(decoded.others)
	}
	errs = decoded.withoutFollowing(errs, others)
	problems := problemsOf(o, withoutVaguer(errs))
	for _, warning := range warnings {
		problems = append(problems, warningOf(o, warning))
	}
	return problems
}

// withoutVaguer are errors without those of a field of which another one says more: that it
// is missing, or of which fewer values it has to be one.
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

// notServed is the error of a kind or version that the API server does not serve, which
// says what to write instead.
func notServed(gvk schema.GroupVersionKind) *field.Error {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	if versions := apiserver.Versions(gvk.GroupKind()); len(versions) > 0 {
		return field.Invalid(field.NewPath("apiVersion"), apiVersion, fmt.Sprintf("is not served by Kubernetes %s: write %s", apiserver.Version(), strings.Join(versions, " or ")))
	}
	if versions := apiserver.VersionsOf(kind); len(versions) > 0 {
		return field.Invalid(field.NewPath("apiVersion"), apiVersion, fmt.Sprintf("has no %s in Kubernetes %s: write %s", kind, apiserver.Version(), strings.Join(versions, " or ")))
	}
	if known := apiserver.Kinds(gvk.Group); object.DidYouMean(kind, known) != "" {
		return field.Invalid(field.NewPath("kind"), kind, fmt.Sprintf("%s has no such kind%s", apiVersion, object.DidYouMean(kind, known)))
	}
	return field.Invalid(field.NewPath("kind"), kind, fmt.Sprintf("Kubernetes %s keeps no such objects of %s: remove it", apiserver.Version(), apiVersion))
}
