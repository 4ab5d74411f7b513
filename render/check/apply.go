package check

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"

	"example.com/gatehouse/render/check/apiserver"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/parallel"
)

// Flux, `kubectl apply --server-side` and, if told to, Argo CD have the API server merge what
// they send into what there is. That asks for more than to create an object does: the
// items of some lists must differ, and metadata must not have what the API server writes.

// Apply finds what keeps objects that can be created from being applied by the server. It
// returns that, but for what is known to be an error, also of rendered objects, and of what is
// known what is not a warning of the same.
func (c *Checker) Apply(objects []object.Object, known, rendered []object.Problem) (refused, rest []object.Problem) {
	found := make([][]object.Problem, len(objects))
	parallel.For(len(objects), func(i int) { found[i] = problemsOf(objects[i], c.applyErrors(objects[i])) })
	refused = slices.Concat(found...)
	if len(refused) == 0 {
		return nil, known
	}
	of := map[*unstructured.Unstructured][]object.Problem{} // what is known, by object
	for _, p := range slices.Concat(known, rendered) {
		of[p.Subject.Unstructured] = append(of[p.Subject.Unstructured], p)
	}
	repeated := map[*unstructured.Unstructured][]object.Problem{} // what warnings may repeat
	refused = slices.DeleteFunc(refused, func(p object.Problem) bool {
		subject := p.Subject.Unstructured
		if slices.ContainsFunc(of[subject], func(k object.Problem) bool { return k.IsError() && isPartOf(k, p) }) {
			return true
		}
		repeated[subject] = append(repeated[subject], p)
		return false
	})
	rest = slices.DeleteFunc(slices.Clone(known), func(k object.Problem) bool {
		return k.Warning && slices.ContainsFunc(repeated[k.Subject.Unstructured], func(p object.Problem) bool { return isPartOf(k, p) })
	})
	return refused, rest
}

// isPartOf says whether a problem is that of a field, or of something in it, where there is
// another, or of another item of its list that is there twice.
func isPartOf(p, other object.Problem) bool {
	inside, ok := strings.CutPrefix(p.Field, other.Field)
	if ok && (inside == "" || strings.ContainsAny(inside[:1], ".[")) {
		return true
	}
	list := other.Field[:strings.LastIndex(other.Field, "[")+1]
	return list != "" && strings.HasPrefix(p.Field, list) && strings.Contains(p.Message, "Duplicate value")
}

func (c *Checker) applyErrors(o object.Object) field.ErrorList {
	errs := givenMetadata(o)
	if scheme.Scheme.Recognizes(o.GroupVersionKind()) && !isDefinition(o.Unstructured) { // which a program may add
		return append(errs, builtinMergeErrors(o)...)
	}
	errs = append(errs, metadataMergeErrors(o.Object, nil)...)
	if kind, ok := c.kinds[o.GroupVersionKind()]; ok {
		errs = append(errs, customMergeErrors(kind.structural, o.Object, nil)...)
	}
	if isDefinition(o.Unstructured) {
		errs = append(errs, definitionMergeErrors(o.Object, nil)...)
	}
	return errs
}

// DropNothing drops what the API server takes for nothing: labels and annotations without a
// key, which Argo CD would apply for ever, and from custom resources the nulls that the API
// server drops when it creates an object, and refuses when it applies one. All other nulls and
// empty maps stay, as they may mean something.
func (c *Checker) DropNothing(objects []object.Object) {
	parallel.For(len(objects), func(i int) {
		dropEmptyMetadata(objects[i])
		if kind, ok := c.kinds[objects[i].GroupVersionKind()]; ok {
			defaulting.PruneNonNullableNullsWithoutDefaults(objects[i].Object, kind.structural)
		}
	})
}

// dropEmptyMetadata drops labels and annotations without a key: those of an object and, of a
// built-in kind, those of its Pod template.
func dropEmptyMetadata(o object.Object) {
	paths := [][]string{{"metadata"}}
	if template, ok := object.PodTemplatePath(o.GetKind()); ok && apiserver.IsGroup(o.GroupVersionKind().Group) {
		paths = append(paths, append(template, "metadata"))
	}
	for _, path := range paths {
		held, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
		metadata, _ := held.(map[string]any)
		for _, key := range []string{"labels", "annotations"} {
			if pairs, _ := metadata[key].(map[string]any); len(pairs) == 0 {
				delete(metadata, key)
			}
		}
	}
}

// givenByServer are fields of metadata that only the API server can know. Objects that come
// from a cluster have them.
var givenByServer = []string{"managedFields", "resourceVersion", "uid"}

// givenMetadata finds what the API server gives an object, and wants nobody to apply.
func givenMetadata(o object.Object) (errs field.ErrorList) {
	metadata, _ := o.Object["metadata"].(map[string]any)
	for _, key := range givenByServer {
		if value := metadata[key]; value != nil && value != "" {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", key), "is for the API server to write, which refuses objects that bring their own: remove it"))
		}
	}
	return errs
}

// customMergeErrors finds, in content of a custom resource at a path, what cannot be merged
// though its schema allows it.
func customMergeErrors(s *schema.Structural, content any, path []string) (errs field.ErrorList) {
	switch content := content.(type) {
	case map[string]any:
		if s.XEmbeddedResource {
			errs = append(errs, metadataMergeErrors(content, path)...)
		}
		for _, key := range slices.Sorted(maps.Keys(content)) {
			if property := propertyOf(s, key); property != nil {
				errs = append(errs, customMergeErrors(property, content[key], append(path, key))...)
			}
		}
	case []any:
		if s.Items == nil {
			return nil
		}
		if isUnmergeable(s) && len(content) > 0 {
			errs = append(errs, &field.Error{Type: field.ErrorTypeForbidden, Field: object.JoinField(path), Detail: serverSideApply + " refuses sets of objects and lists: in the CustomResourceDefinition, make it a list of type map or atomic"})
		}
		for i, item := range content {
			errs = append(errs, customMergeErrors(s.Items, item, append(path, index(i)))...)
		}
	}
	return errs
}

// propertyOf is the schema of a field; nil where there is none.
func propertyOf(s *schema.Structural, key string) *schema.Structural {
	if property, ok := s.Properties[key]; ok {
		return &property
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}

// isUnmergeable says whether a list of a custom resource cannot be merged, whatever is in it.
func isUnmergeable(list *schema.Structural) bool {
	return list.XListType != nil && *list.XListType == "set" && (list.Items.Type == "object" || list.Items.Type == "array")
}
