package verdict

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/verdict/apiserver"
)

// Flux, `kubectl apply --server-side` and, if told to, Argo CD have the API server merge what
// they send into what there is. That asks for more than to create an object does: the
// items of some lists must differ, and metadata must not have what the API server writes.

// applyErrors finds what keeps an object that can be created from being applied by the server.
func (c *Checker) applyErrors(o manifest.Object) field.ErrorList {
	errs := givenMetadata(o)
	if scheme.Scheme.Recognizes(o.GroupVersionKind()) && !isDefinition(o.Unstructured) { // which a program may add
		if mayClash(o.Object) {
			_, err := mergeable().ObjectToTyped(decrypted(o.Unstructured))
			errs = append(errs, mergeErrors(err, o.Object, nil)...)
		}
		return errs
	}
	errs = append(errs, metadataMergeErrors(o.Object, nil)...)
	if kind, ok := c.kinds[o.GroupVersionKind()]; ok {
		eachValue(kind.compiled().structural, o.Object, nil, func(s *schema.Structural, value any, path []string) {
			content, _ := value.(map[string]any)
			items, _ := value.([]any)
			switch {
			case s.XEmbeddedResource && len(path) > 0:
				errs = append(errs, metadataMergeErrors(content, path)...)
			case len(items) > 0 && isUnmergeable(s):
				errs = append(errs, refusedApply(path, "refuses sets of objects and lists: in the CustomResourceDefinition, make it a list of type map or atomic"))
			}
		})
	}
	if isDefinition(o.Unstructured) {
		errs = append(errs, ruleMergeErrors(o.Object, nil)...)
	}
	return errs
}

// refusedApply returns the error of a field that server-side apply refuses.
func refusedApply(path []string, why string) *field.Error {
	return &field.Error{Type: field.ErrorTypeForbidden, Field: manifest.JoinField(path), Detail: "server-side apply (Flux, Argo CD) " + why}
}

// mergeable knows how the API server merges objects of built-in kinds.
var mergeable = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(scheme.Scheme) })

// metadataSchema is that of the metadata of all kinds.
var metadataSchema = sync.OnceValue(func() typed.ParseableType {
	namespace := &unstructured.Unstructured{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace")) // all kinds have one schema
	object, err := mergeable().ObjectToTyped(namespace)
	if err != nil {
		panic(err)
	}
	name := "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
	return typed.ParseableType{Schema: object.Schema(), TypeRef: smdschema.TypeRef{NamedType: &name}}
})

// metadataMergeErrors finds what cannot be merged in the metadata of an object at a path.
func metadataMergeErrors(content map[string]any, path []string) field.ErrorList {
	metadata, ok := content["metadata"].(map[string]any)
	if !ok || isPlainMetadata(metadata) {
		return nil
	}
	_, err := metadataSchema().FromUnstructured(metadata)
	return mergeErrors(err, metadata, append(slices.Clone(path), "metadata"))
}

// mergeErrors returns what structured-merge-diff refuses of content at a path.
func mergeErrors(err error, content any, path []string) (errs field.ErrorList) {
	var refused typed.ValidationErrors
	if !errors.As(err, &refused) {
		return nil
	}
	reported := map[string]int{} // it says the same of each further twin
	for _, e := range refused {
		at := append(slices.Clone(path), mergedPath(content, e, 2+reported[e.Error()])...)
		reported[e.Error()]++
		if match := expectedType.FindStringSubmatch(e.ErrorMessage); match != nil {
			has := decoding.TypeOf(decoding.At(content, at[len(path):]))
			errs = append(errs, &field.Error{Type: field.ErrorTypeTypeInvalid, Field: manifest.JoinField(at), BadValue: has, Detail: "must be of type " + match[1] + ", not " + has})
			continue
		}
		errs = append(errs, refusedApply(at, "refuses it: "+e.ErrorMessage))
	}
	return errs
}

var (
	// mergedStep matches the steps of a path as structured-merge-diff writes them: .env, and
	// [name="a"], [="a"] or [0] for an item of a list.
	mergedStep = regexp.MustCompile(`\.[^.\[]+|\[[^\]]*\]`)
	mergedKey  = regexp.MustCompile(`(\w*)="?([^",\]]*)`)
	twins      = regexp.MustCompile(`^duplicate entries for key (.*)$`)
	// expectedType matches what it says of a value, which it prints as Go does.
	expectedType = regexp.MustCompile(`^expected (\w+), got `)
	itemNumber   = regexp.MustCompile(`^element (\d+):`)
)

// mergedPath returns the path in content of what structured-merge-diff refuses, as far as it
// says that: of items with one key it is the nth.
func mergedPath(content any, refused typed.ValidationError, nth int) (path []string) {
	for _, step := range mergedStep.FindAllString(refused.Path, -1) {
		key := strings.TrimPrefix(step, ".")
		if key == step {
			key = itemWith(content, step, 1)
		}
		if key == "" {
			return path
		}
		path, content = append(path, key), decoding.At(content, []string{key})
	}
	if match := itemNumber.FindStringSubmatch(refused.ErrorMessage); match != nil {
		return append(path, "["+match[1]+"]")
	}
	if match := twins.FindStringSubmatch(refused.ErrorMessage); match != nil {
		if key := itemWith(content, match[1], nth); key != "" {
			return append(path, key)
		}
	}
	return path
}

// itemWith returns the index, in brackets, of the nth item of a list with a key like
// [name="a"]; empty where there is none. A part of a key that an item leaves out has its
// default, and counts as equal.
func itemWith(list any, key string, nth int) string {
	items, _ := list.([]any)
	for i, item := range items {
		isSame := true
		for _, part := range mergedKey.FindAllStringSubmatch(key, -1) {
			value := item
			if part[1] != "" {
				value = decoding.At(item, part[1:2])
			}
			isSame = isSame && (value == nil || fmt.Sprint(value) == part[2])
		}
		if isSame {
			nth--
		}
		if isSame && nth == 0 {
			return index(i)
		}
	}
	return ""
}

// ruleMergeErrors finds the rules that a CustomResourceDefinition has twice at one place: they
// are the keys of their lists.
func ruleMergeErrors(content any, path []string) (errs field.ErrorList) {
	switch content := content.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(content)) {
			errs = append(errs, ruleMergeErrors(content[key], append(slices.Clip(path), key))...)
		}
	case []any:
		seen := map[string]bool{}
		for i, item := range content {
			at := append(slices.Clip(path), index(i))
			rule, isRule := decoding.At(item, []string{"rule"}).(string)
			if isRule && path[len(path)-1] == "x-kubernetes-validations" && seen[rule] {
				errs = append(errs, refusedApply(at, "refuses a rule that is there twice: remove one"))
			}
			seen[rule] = true
			errs = append(errs, ruleMergeErrors(item, at)...)
		}
	}
	return errs
}

// DropNothing drops what the API server takes for nothing: labels and annotations without a
// key, which Argo CD would apply again and again, and from custom resources the nulls that the API
// server drops when it creates an object, and refuses when it applies one. All other nulls and
// empty maps stay, as they may mean something.
func (c *Checker) DropNothing(objects []manifest.Object) {
	parallel.For(len(objects), func(i int) {
		for metadata, key := range emptyMetadata(objects[i]) {
			delete(metadata, key)
		}
		if kind, ok := c.kinds[objects[i].GroupVersionKind()]; ok {
			defaulting.PruneNonNullableNullsWithoutDefaults(objects[i].Object, kind.compiled().structural)
		}
	})
}

// HasNothing reports whether DropNothing may change an object.
func (c *Checker) HasNothing(o manifest.Object) bool {
	for range emptyMetadata(o) {
		return true
	}
	_, isCustom := c.kinds[o.GroupVersionKind()]
	return isCustom && manifest.Contains(o.Object, func(_ string, value any) bool { return value == nil })
}

// emptyMetadata yields the metadata that have labels or annotations without a key, and the name of
// these: the metadata of an object and, of a built-in kind, of its Pod template.
func emptyMetadata(o manifest.Object) iter.Seq2[map[string]any, string] {
	return func(yield func(metadata map[string]any, key string) bool) {
		paths := [][]string{{"metadata"}}
		if template, ok := manifest.PodTemplatePath(o.GetKind()); ok && apiserver.IsGroup(o.GroupVersionKind().Group) {
			paths = append(paths, append(template, "metadata"))
		}
		for _, path := range paths {
			metadata, _ := decoding.At(o.Object, path).(map[string]any)
			for _, key := range []string{"labels", "annotations"} {
				value, isThere := metadata[key]
				if pairs, _ := value.(map[string]any); isThere && len(pairs) == 0 && !yield(metadata, key) {
					return
				}
			}
		}
	}
}

// givenByServer are fields of metadata that only the API server can know. Objects that come
// from a cluster have them.
var givenByServer = []string{"managedFields", "resourceVersion", "uid"}

// givenMetadata finds metadata that only the API server writes, and nobody may apply.
func givenMetadata(o manifest.Object) (errs field.ErrorList) {
	metadata, _ := o.Object["metadata"].(map[string]any)
	for _, key := range givenByServer {
		if value := metadata[key]; value != nil && value != "" {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", key), "is for the API server to write, which refuses objects that bring their own: remove it"))
		}
	}
	return errs
}

// isUnmergeable reports whether server-side apply refuses every list of a schema.
func isUnmergeable(list *schema.Structural) bool {
	return list.Items != nil && list.XListType != nil && *list.XListType == "set" && (list.Items.Type == "object" || list.Items.Type == "array")
}
