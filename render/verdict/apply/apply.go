// Package apply finds what server-side apply refuses of objects that the API server would create:
// equal items in lists with keys, and metadata of the API server itself. Flux, `kubectl apply
// --server-side` and, as an option, Argo CD apply that way.
package apply

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/secret"
	"example.com/gatehouse/render/verdict/structural"
)

// Errors returns the errors of server-side apply for a valid object. The schema and the types of a custom resource
// are nil if they are unknown.
func Errors(u *unstructured.Unstructured, s *schema.Structural,
	types func() managedfields.TypeConverter) field.ErrorList {
	errs := metadataOfServer(u)
	if scheme.Scheme.Recognizes(u.GroupVersionKind()) && !crd.Is(u) { // a program may add its own kinds to the scheme
		if mayHaveTwins(u.Object) {
			_, err := BuiltinTypes().ObjectToTyped(secret.Decrypted(u))
			errs = append(errs, mergeErrors(err, u.Object, nil)...)
		}
		return errs
	}
	errs = append(errs, metadataErrors(u.Object, nil)...)
	if s != nil {
		errs = append(errs, customErrors(u, s)...)
	}
	if len(errs) == 0 && u.Object["status"] != nil && types != nil && types() != nil {
		// create drops it, and checks nothing
		_, err := types().ObjectToTyped(u)
		errs = append(errs, mergeErrors(err, u.Object, nil)...)
	}
	if crd.Is(u) {
		errs = append(errs, ruleErrors(u.Object)...)
	}
	return errs
}

// customErrors returns the errors of a custom resource by its schema.
func customErrors(u *unstructured.Unstructured, s *schema.Structural) (errs field.ErrorList) {
	structural.Walk(s, u.Object, func(s *schema.Structural, value any, path []string) {
		content, _ := value.(map[string]any)
		items, _ := value.([]any)
		switch {
		case s.XEmbeddedResource && len(path) > 0:
			errs = append(errs, metadataErrors(content, path)...)
		case len(items) > 0 && isUnmergeable(s):
			errs = append(errs,
				refused(path,
					"refuses sets of objects and lists: in the CustomResourceDefinition, make it a list of type map "+
						"or atomic"))
		}
	})
	return errs
}

// Nulls returns the errors of nulls in a custom resource, which the API server drops when it creates the object, and
// refuses when a tool applies it.
func Nulls(u *unstructured.Unstructured, s *schema.Structural) (errs field.ErrorList) {
	structural.Walk(s, u.Object, func(s *schema.Structural, value any, path []string) {
		if value == nil && s.Type != "" && !s.Nullable && s.Default.Object == nil {
			errs = append(errs, &field.Error{Type: field.ErrorTypeTypeInvalid, Field: manifest.JoinField(path),
				BadValue: "null", Detail: "must be of type " + s.Type +
					", and is empty: write a value, or remove the field"})
		}
	})
	return errs
}

// isUnmergeable reports whether server-side apply refuses every list of a schema.
func isUnmergeable(list *schema.Structural) bool {
	return list.Items != nil && list.XListType != nil && *list.XListType == "set" &&
		(list.Items.Type == "object" || list.Items.Type == "array")
}

func refused(path []string, reason string) *field.Error {
	return &field.Error{Type: field.ErrorTypeForbidden, Field: manifest.JoinField(path),
		Detail: "server-side apply (Flux, Argo CD) " + reason}
}

// ofServer are the fields of metadata that only the API server writes.
var ofServer = []string{"managedFields", "resourceVersion", "uid"}

// IsOfServer reports whether only the API server writes a field. It refuses others however they are applied.
func IsOfServer(field string) bool {
	return slices.Contains(ofServer, strings.TrimPrefix(field, "metadata."))
}

// metadataOfServer returns the errors of metadata that only the API server writes, as in objects
// from a cluster.
func metadataOfServer(u *unstructured.Unstructured) (errs field.ErrorList) {
	metadata, _ := u.Object["metadata"].(map[string]any)
	for _, key := range ofServer {
		if value := metadata[key]; value != nil && value != "" {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", key),
				"is set by the API server, which refuses any other value: remove it"))
		}
	}
	return errs
}

// BuiltinTypes returns the types of built-in kinds, with their merge keys.
var BuiltinTypes = sync.OnceValue(func() managedfields.TypeConverter {
	return applyconfigurations.NewTypeConverter(scheme.Scheme)
})

// metadataType is the type of the metadata of all kinds.
var metadataType = sync.OnceValue(func() typed.ParseableType {
	namespace := &unstructured.Unstructured{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace")) // all kinds share one schema
	object, err := BuiltinTypes().ObjectToTyped(namespace)
	if err != nil {
		panic(err)
	}
	name := "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
	return typed.ParseableType{Schema: object.Schema(), TypeRef: smdschema.TypeRef{NamedType: &name}}
})

// metadataErrors returns the merge errors in the metadata of an object at a path.
func metadataErrors(content map[string]any, path []string) field.ErrorList {
	metadata, ok := content["metadata"].(map[string]any)
	if !ok || isPlainMetadata(metadata) {
		return nil
	}
	_, err := metadataType().FromUnstructured(metadata)
	return mergeErrors(err, metadata, append(slices.Clone(path), "metadata"))
}

// mergeErrors converts the errors of structured-merge-diff for content at a path.
func mergeErrors(err error, content any, path []string) (errs field.ErrorList) {
	var found typed.ValidationErrors
	if !errors.As(err, &found) {
		return nil
	}
	repeated := map[string]int{} // each further twin has the same error
	for _, e := range found {
		at := append(slices.Clone(path), mergePath(content, e, 2+repeated[e.Error()])...)
		repeated[e.Error()]++
		if match := expectedType.FindStringSubmatch(e.ErrorMessage); match != nil {
			actual := decoding.TypeOf(decoding.At(content, at[len(path):]))
			errs = append(errs, &field.Error{Type: field.ErrorTypeTypeInvalid, Field: manifest.JoinField(at),
				BadValue: actual, Detail: "must be of type " + match[1] + ", not " + actual})
			continue
		}
		errs = append(errs, refused(at, "refuses it: "+e.ErrorMessage))
	}
	return errs
}

var (
	// mergeStep matches a step of a path in structured-merge-diff: .env, or for an item of a list
	// [name="a"], [="a"] or [0].
	mergeStep  = regexp.MustCompile(`\.[^.\[]+|\[[^\]]*\]`)
	mergeKey   = regexp.MustCompile(`(\w*)="?([^",\]]*)`)
	duplicates = regexp.MustCompile(`^duplicate entries for key (.*)$`)
	// expectedType matches the error of a value that structured-merge-diff prints as Go.
	expectedType = regexp.MustCompile(`^expected (\w+), got `)
	itemNumber   = regexp.MustCompile(`^element (\d+):`)
)

// mergePath returns the path of an error of structured-merge-diff in content, as far as the error
// has it. Of items with equal keys it is the path of the nth.
func mergePath(content any, e typed.ValidationError, nth int) (path []string) {
	for _, step := range mergeStep.FindAllString(e.Path, -1) {
		key := strings.TrimPrefix(step, ".")
		if key == step {
			key = itemWithKey(content, step, 1)
		}
		if key == "" {
			return path
		}
		path = append(path, key)
		content = decoding.At(content, []string{key})
	}
	if match := itemNumber.FindStringSubmatch(e.ErrorMessage); match != nil {
		return append(path, "["+match[1]+"]")
	}
	if match := duplicates.FindStringSubmatch(e.ErrorMessage); match != nil {
		if key := itemWithKey(content, match[1], nth); key != "" {
			return append(path, key)
		}
	}
	return path
}

// itemWithKey returns the index, in brackets, of the nth item of a list with a key like [name="a"];
// empty if there are fewer. A missing part of a key has its default and is equal to any value.
func itemWithKey(list any, key string, nth int) string {
	items, _ := list.([]any)
	for i, item := range items {
		isEqual := true
		for _, part := range mergeKey.FindAllStringSubmatch(key, -1) {
			value := item
			if part[1] != "" {
				value = decoding.At(item, part[1:2])
			}
			isEqual = isEqual && (value == nil || fmt.Sprint(value) == part[2])
		}
		if isEqual {
			nth--
		}
		if isEqual && nth == 0 {
			return fmt.Sprintf("[%d]", i)
		}
	}
	return ""
}

// ruleErrors returns the errors of rules that are twice in a list of a CustomResourceDefinition,
// whose key they are.
func ruleErrors(content any) (errs field.ErrorList) {
	decoding.Walk(content, func(path []string, value any) bool {
		rules, _ := value.([]any)
		seen := map[string]bool{}
		for i, item := range rules {
			rule, isRule := decoding.At(item, []string{"rule"}).(string)
			if isRule && path[len(path)-1] == "x-kubernetes-validations" && seen[rule] {
				at := append(slices.Clip(path), fmt.Sprintf("[%d]", i))
				errs = append(errs, refused(at, "refuses a duplicate rule: remove one"))
			}
			seen[rule] = true
		}
		return true
	})
	return errs
}
