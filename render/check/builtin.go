package check

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/json"
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
// Decoding stops at the first of a wrong type: it goes on without that.
func decode(o object.Object) (problems []object.Problem) {
	rest := o.Unstructured
	for {
		encoded, err := json.Marshal(rest.Object)
		if err != nil {
			return append(problems, invalid(o, err.Error()))
		}
		if _, _, err = builtin.Decode(encoded, nil, nil); err == nil {
			return problems
		}
		found := decodingProblems(o, err)
		problems = append(problems, found...)
		if rest == o.Unstructured {
			rest = o.DeepCopy()
		}
		if found[0].Value.Type == "" || !remove(rest.Object, object.SplitField(found[0].Field)) {
			return problems
		}
	}
}

// remove removes a field, in every item of the lists on the way to it.
func remove(content any, keys []string) (removed bool) {
	switch content := content.(type) {
	case []any:
		for _, item := range content {
			removed = remove(item, keys) || removed
		}
	case map[string]any:
		value, ok := content[keys[0]]
		if ok && len(keys) == 1 {
			delete(content, keys[0])
			return true
		}
		return ok && remove(value, keys[1:])
	}
	return removed
}

var (
	unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)
	goField      = regexp.MustCompile(`cannot unmarshal (\S+) into Go struct field \w+\.(\S+) of type (\S+)`)
)

// decodingProblems says of which fields an error of strict decoding is.
func decodingProblems(o object.Object, err error) (problems []object.Problem) {
	messages := []string{err.Error()}
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		messages = messages[:0]
		for _, e := range strict.Errors() {
			messages = append(messages, e.Error())
		}
	}
	for _, message := range messages {
		if match := unknownField.FindStringSubmatch(message); match != nil {
			problems = append(problems, unknownFieldProblem(o, match[1], nil))
		} else if match := goField.FindStringSubmatch(message); match != nil {
			problems = append(problems, wrongType(o, match[2], match[1], match[3]))
		} else {
			problems = append(problems, invalid(o, message))
		}
	}
	return problems
}
