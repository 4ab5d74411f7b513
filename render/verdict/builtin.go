package verdict

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/verdict/problem"
	"example.com/gatehouse/render/verdict/zone"
)

// lookup returns a built-in kind that the API server serves or, without a declared --runtime-config, may serve.
func (c *Checker) lookup(gvk schema.GroupVersionKind) (apiserver.Kind, bool) {
	k, isServed := c.kubernetes.Lookup(gvk)
	isUndeclared := c.isAssumed || c.IsRead && c.RuntimeConfig == ""
	if !isServed && (isUndeclared || c.RuntimeConfig.Enables(gvk.GroupVersion())) {
		return c.kubernetes.LookupBeta(gvk)
	}
	return k, isServed
}

// checkBuiltin returns the errors and warnings of the API server for an object of a built-in kind.
func (c *Checker) checkBuiltin(o manifest.Object) []manifest.Problem {
	served, ok := c.lookup(o.GroupVersionKind())
	if !ok {
		return problem.FromErrors(o, field.ErrorList{notServed(o.GroupVersionKind(), c.kubernetes)})
	}
	decoded, problems := decode(o, served)
	if len(problems) > 0 {
		return problems
	}
	problems = creationProblems(o, served, decoded)
	_, isServed := c.kubernetes.Lookup(o.GroupVersionKind())
	isEnabled := c.RuntimeConfig.Enables(o.GroupVersionKind().GroupVersion())
	if !isServed && !isEnabled && !manifest.HasErrors(problems) {
		p := problem.FromError(o, notServed(o.GroupVersionKind(), c.kubernetes))
		p.Warning = true // it says more than that the version is deprecated
		problems = []manifest.Problem{p}
	}
	if c.created != nil && !manifest.HasErrors(problems) {
		decoded.SetCreationTimestamp(metav1.Time{}) // it is now
		c.created.Store(o.ID(), decoded)
	}
	return problems
}

// creationProblems returns the errors of the API server for a decoded object or, without errors, its
// warnings.
func creationProblems(o manifest.Object, served apiserver.Kind, decoded kind.Object) []manifest.Problem {
	errs, warnings := served.Create(decoded)
	for _, err := range errs {
		name, isText := decoding.At(o.Object, manifest.SplitField(err.Field)).(string)
		if isText && strings.HasSuffix(err.Field, ".timeZone") {
			err.Detail += zone.Advice(name)
		}
	}
	problems := problem.FromErrors(o, mostSpecific(errs))
	for _, warning := range warnings {
		problems = append(problems, problem.FromWarning(o, warning))
	}
	return problems
}

// invalidSelector is the detail of an error of a selector that names no label.
const invalidSelector = "invalid label selector"

// mostSpecific drops errors if a better one exists for the same field: it is required, or has a
// shorter list of supported values.
//
// The error of a label within a selector has its reason.
func mostSpecific(errs field.ErrorList) field.ErrorList {
	ofField := map[string]field.ErrorList{}
	for _, err := range errs {
		ofField[err.Field] = append(ofField[err.Field], err)
	}
	isWithin := func(err, other *field.Error) bool { return strings.HasPrefix(other.Field, err.Field+".") }
	return slices.DeleteFunc(errs, func(err *field.Error) bool {
		if err.Detail == invalidSelector && slices.ContainsFunc(errs, func(other *field.Error) bool {
			return isWithin(err, other)
		}) {
			return true
		}
		return slices.ContainsFunc(ofField[err.Field], func(other *field.Error) bool {
			if other.Type == field.ErrorTypeRequired {
				return err.Type != field.ErrorTypeRequired
			}
			return other.Type == field.ErrorTypeNotSupported && err.Type == other.Type &&
				len(other.Detail) < len(err.Detail)
		})
	})
}

// notServed returns the error of a kind or version that the API server does not serve. It suggests
// another one.
func notServed(gvk schema.GroupVersionKind, kubernetes apiserver.Version) *field.Error {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	var byConfig string
	if _, isBeta := kubernetes.LookupBeta(gvk); isBeta {
		byConfig = fmt.Sprintf(" or, if the --runtime-config of the API server enables %[1]s, the annotation %[2]s: "+
			"%[1]s of the environment's kustomization", apiVersion, apiserver.RuntimeConfigAnnotation)
	}
	if versions := kubernetes.APIVersions(gvk.GroupKind()); len(versions) > 0 {
		return field.Invalid(field.NewPath("apiVersion"), apiVersion,
			fmt.Sprintf("has no %s in Kubernetes %s: write %s%s", kind, kubernetes,
				strings.Join(versions, " or "), byConfig))
	}
	if byConfig != "" {
		return field.Invalid(field.NewPath("apiVersion"), apiVersion,
			fmt.Sprintf("Kubernetes %s serves no such version by default: write another kind%s", kubernetes, byConfig))
	}
	if later := kubernetes.LaterKind(gvk); later != "" {
		return field.Invalid(field.NewPath("kind"), kind, fmt.Sprintf("%s has no such kind: %s", apiVersion, later))
	}
	if suggestion := manifest.DidYouMean(kind, apiserver.KindNames(gvk.Group)); suggestion != "" {
		return field.Invalid(field.NewPath("kind"), kind, fmt.Sprintf("%s has no such kind%s", apiVersion, suggestion))
	}
	return field.Invalid(field.NewPath("kind"), kind,
		fmt.Sprintf("Kubernetes %s stores no such objects of %s: correct its apiVersion and kind, or remove it",
			kubernetes, apiVersion))
}
