package verdict

import (
	"iter"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/verdict/apiserver"
)

// DropEmpty drops empty labels and annotations, which Argo CD would apply again and again, and nulls
// in custom resources, which the API server drops on create and refuses on apply. Other nulls and
// empty maps may have a meaning and stay.
func (c *Checker) DropEmpty(objects []manifest.Object) {
	parallel.For(len(objects), func(i int) {
		for metadata, key := range emptyMetadata(objects[i]) {
			delete(metadata, key)
		}
		if kind, ok := c.custom[objects[i].GroupVersionKind()]; ok {
			defaulting.PruneNonNullableNullsWithoutDefaults(objects[i].Object, kind.compiled().structural)
		}
	})
}

// MayDropEmpty reports whether DropEmpty may change an object.
func (c *Checker) MayDropEmpty(o manifest.Object) bool {
	for range emptyMetadata(o) {
		return true
	}
	_, isCustom := c.custom[o.GroupVersionKind()]
	return isCustom && manifest.Contains(o.Object, func(_ string, value any) bool { return value == nil })
}

// emptyMetadata yields metadata with empty labels or annotations, and the name of that field. It sees
// the metadata of an object and, of a built-in kind, of its Pod template.
func emptyMetadata(o manifest.Object) iter.Seq2[map[string]any, string] {
	return func(yield func(metadata map[string]any, key string) bool) {
		paths := [][]string{{"metadata"}}
		if template, ok := manifest.PodTemplatePath(o.GetKind()); ok && apiserver.IsGroup(o.GroupVersionKind().Group) {
			paths = append(paths, append(template, "metadata"))
		}
		for _, path := range paths {
			metadata, _ := decoding.At(o.Object, path).(map[string]any)
			for _, key := range []string{"labels", "annotations"} {
				value, exists := metadata[key]
				if pairs, _ := value.(map[string]any); exists && len(pairs) == 0 && !yield(metadata, key) {
					return
				}
			}
		}
	}
}
