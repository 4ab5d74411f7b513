package registry

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Forgetting finds fields that the Convert of kinds forgets. Its zero value is ready for use.
type Forgetting struct {
	// used has the fields without which Convert returned something else once, by kind and path:
	// they are not tried again.
	used map[string]bool
}

// Fields returns the paths of the fields of an object, among those that somebody wrote, without
// which Convert returns the same: what they hold is lost. Old is the object with its defaults,
// converted what Convert returned for it, and defaulted that with its defaults. A value that is zero,
// or is a default of the new version, is not lost.
func (f *Forgetting) Fields(k *Kinds, old, written, converted, defaulted *unstructured.Unstructured) []string {
	if f.used == nil {
		f.used = map[string]bool{}
	}
	defaults := values(defaulted.Object["spec"])
	for _, value := range values(converted.Object["spec"]) {
		if i := slices.Index(defaults, value); i >= 0 {
			defaults = slices.Delete(defaults, i, i+1)
		}
	}
	t := trial{Forgetting: f, kinds: k, object: old.DeepCopy(), converted: converted, defaults: defaults}
	t.visit(t.object.Object["spec"], written.Object["spec"], field.NewPath("spec"))
	return t.forgotten
}

// values returns the scalars in a value as texts.
func values(value any) (all []string) {
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			all = append(all, values(inner)...)
		}
	case []any:
		for _, inner := range value {
			all = append(all, values(inner)...)
		}
	case nil:
	default:
		all = append(all, fmt.Sprint(value))
	}
	return all
}

// trial converts an object without one of its fields after the other.
type trial struct {
	*Forgetting
	kinds             *Kinds
	object, converted *unstructured.Unstructured
	defaults          []string
	forgotten         []string
}

// visit tries the fields below a value of the object that somebody wrote.
func (t *trial) visit(value, written any, path *field.Path) {
	switch written := written.(type) {
	case map[string]any:
		value, _ := value.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(written)) {
			t.try(value, name, path.Child(name))
			t.visit(value[name], written[name], path.Child(name))
		}
	case []any:
		value, _ := value.([]any)
		for i := range min(len(value), len(written)) {
			t.visit(value[i], written[i], path.Index(i))
		}
	}
}

// try converts the object without a field that is neither a mapping nor a list of such.
func (t *trial) try(parent map[string]any, name string, path *field.Path) {
	value := parent[name]
	list, _ := value.([]any)
	_, isMapping := value.(map[string]any)
	_, isList := slices.Concat(list, []any{""})[0].(map[string]any)
	key := t.object.GroupVersionKind().String() + " " + index.ReplaceAllString(path.String(), "")
	if isMapping || isList || t.used[key] || value == nil || reflect.ValueOf(value).IsZero() {
		return
	}
	delete(parent, name)
	without, err := t.kinds.Convert(t.object)
	parent[name] = value
	t.used[key] = err != nil || !reflect.DeepEqual(t.converted.Object["spec"], without.Object["spec"])
	if !t.used[key] && !slices.Contains(t.defaults, fmt.Sprint(value)) {
		t.forgotten = append(t.forgotten, path.String())
	}
}

// index matches the indexes in the path of a field.
var index = regexp.MustCompile(`\[\d+\]`)
