package compare

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

// Unified returns the notes as comments, and a unified diff of the object as YAML. Like `kubectl diff`, it
// masks the values of Secrets and shows only whether they change.
func (c Change) Unified() string {
	var notes strings.Builder
	for _, note := range c.Notes {
		notes.WriteString("# " + kind.Visible(note) + "\n")
	}
	if c.InstalledBy != (manifest.ID{}) {
		notes.WriteString("# installed by " + kind.Visible(c.InstalledBy.String()) + "\n")
	}
	from := "a/" + c.BeforeFile
	if c.Before != nil && c.BeforeFile == "" {
		from = "live/" + LiveName(c.Before)
	}
	before, after := c.Texts()
	return notes.String() + tree.UnifiedDiff(from, "b/"+c.AfterFile, before, after)
}

// LiveName returns the name of a live object in `kubectl diff`: apps.v1.Deployment.shop.sessions.
func LiveName(o *unstructured.Unstructured) string {
	gvk := o.GroupVersionKind()
	words := []string{gvk.Group, gvk.Version, gvk.Kind, o.GetNamespace(), o.GetName()}
	words = slices.DeleteFunc(words, func(word string) bool { return word == "" })
	return kind.Visible(strings.Join(words, "."))
}

// Texts returns the object before and after as YAML, with masked values of Secrets, or nil if there is no
// object.
func (c Change) Texts() (before, after []byte) {
	was, is := maskSecret(c.Before, c.After)
	return toYAML(was), toYAML(is)
}

func toYAML(o *unstructured.Unstructured) []byte {
	if o == nil {
		return nil
	}
	content, err := manifest.Object{Unstructured: o}.YAML()
	if err != nil { // objects come from YAML or JSON
		panic(fmt.Errorf("write %s %s: %w", o.GetKind(), o.GetName(), err))
	}
	return content
}

// maskSecret returns copies of a Secret with stars in place of its values, and other objects unchanged.
func maskSecret(before, after *unstructured.Unstructured) (was, is *unstructured.Unstructured) {
	was = before
	is = after
	if isSecret(before) {
		was = before.DeepCopy()
	}
	if isSecret(after) {
		is = after.DeepCopy()
	}
	for _, field := range []string{"data", "stringData"} {
		maskValues(secretValues(was, field), secretValues(is, field), func(string, any) bool { return true })
	}
	maskValues(secretValues(was, "metadata", "annotations"), secretValues(is, "metadata", "annotations"),
		func(key string, value any) bool {
			return manifest.MayHoldSecret(key, fmt.Sprint(value))
		})
	return was, is
}

// maskValues replaces the values of keys with stars that show whether a value changes.
func maskValues(old, current map[string]any, isMasked func(key string, value any) bool) {
	for key, value := range old {
		other, stays := current[key]
		switch {
		case !isMasked(key, value) && (!stays || !isMasked(key, other)):
		case !stays:
			old[key] = "***"
		case reflect.DeepEqual(value, other):
			old[key] = "***"
			current[key] = "***"
		default:
			old[key] = "*** (before)"
			current[key] = "*** (after)"
		}
	}
	for key, value := range current {
		if _, was := old[key]; !was && isMasked(key, value) {
			current[key] = "***"
		}
	}
}

func isSecret(o *unstructured.Unstructured) bool {
	return o != nil && o.GetKind() == "Secret" && o.GroupVersionKind().Group == ""
}

// secretValues returns the values in a field of a Secret, and nil for other objects. It replaces a field
// that is not a map, an error in any cluster, with stars.
func secretValues(o *unstructured.Unstructured, path ...string) map[string]any {
	if !isSecret(o) {
		return nil
	}
	value, ok, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	values, isMap := value.(map[string]any)
	if ok && value != nil && !isMap {
		_ = unstructured.SetNestedField(o.Object, "***", path...)
	}
	return values
}
