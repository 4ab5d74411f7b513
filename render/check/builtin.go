package check

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"example.com/gatehouse/render/object"
)

var builtin = serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

// checkBuiltin decodes an object of a built-in kind strictly.
func checkBuiltin(o object.Object) []object.Problem {
	gvk := o.GroupVersionKind()
	if !scheme.Scheme.IsVersionRegistered(gvk.GroupVersion()) {
		served := scheme.Scheme.PrioritizedVersionsForGroup(gvk.Group)
		versions := make([]string, len(served))
		for i, version := range served {
			versions[i] = version.String()
		}
		return problemsOf(o, field.ErrorList{field.NotSupported(field.NewPath("apiVersion"), o.GetAPIVersion(), versions)})
	}
	if !scheme.Scheme.Recognizes(gvk) {
		known := slices.Collect(maps.Keys(scheme.Scheme.KnownTypes(gvk.GroupVersion())))
		return problemsOf(o, field.ErrorList{field.Invalid(field.NewPath("kind"), gvk.Kind, fmt.Sprintf("%s has no such kind%s", gvk.GroupVersion(), object.DidYouMean(gvk.Kind, known)))})
	}
	namespaced, _ := isBuiltinNamespaced(gvk)
	return append(problemsOf(o, checkMetadata(o.Unstructured, namespaced)), decode(o)...)
}

// isBuiltinNamespaced says whether objects of a built-in kind are in a namespace, and
// whether the kind is known.
func isBuiltinNamespaced(gvk schema.GroupVersionKind) (namespaced, known bool) {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	return openapi.IsNamespaceScoped(yaml.TypeMeta{APIVersion: apiVersion, Kind: kind})
}

// isPathSegment is the least that the API server asks of a name.
func isPathSegment(name string, _ bool) []string { return content.IsPathSegmentName(name) }

// decode finds the fields of a built-in kind that are unknown or of a wrong type.
func decode(o object.Object) []object.Problem {
	return decodingProblems(o, func(content []byte) error {
		_, _, err := builtin.Decode(content, nil, nil)
		return err
	})
}
