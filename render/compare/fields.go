package compare

import (
	"cmp"
	"encoding/json"
	"iter"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/render/manifest"
)

// FieldChange is a changed field of an object: a scalar or an empty list or map, unless the change
// removes a whole item or branch.
type FieldChange struct {
	// Path is as in errors of the API server: spec.containers[web].image. Items with unique names
	// have their name in brackets, other items their index after the change. An item that is
	// removed has its index before the change.
	Path string `json:"path"`
	// Before and After are texts, or JSON of other values: null is such a value. Unset fields are nil.
	// Different values have different texts: beside a value of another type, a text that reads like
	// JSON is in quotes.
	Before *string `json:"before"`
	After  *string `json:"after"`
}

// IsIn reports whether the field is at a path or below it.
func (f FieldChange) IsIn(path string) bool {
	rest, ok := strings.CutPrefix(f.Path, path)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// IsWithin reports whether the field is at one of the paths, or below.
func (f FieldChange) IsWithin(paths sets.Set[string]) bool {
	for start := range f.Starts() {
		if paths.Has(start) {
			return true
		}
	}
	return false
}

// Starts returns the paths that the field is at or below: all starts of its own, and its own last.
func (f FieldChange) Starts() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, r := range f.Path {
			if (r == '.' || r == '[') && !yield(f.Path[:i]) {
				return
			}
		}
		yield(f.Path)
	}
}

// Fields returns the changed fields of the object in the order of their paths, with masked values of
// Secrets. Of an added object it returns all fields. Callers may change the list.
func (c Change) Fields() []FieldChange {
	if c.fields != nil {
		return slices.Clone(c.fields)
	}
	var f fields
	was, is := manifest.MaskSecrets(c.Before, c.After)
	f.compareMaps(nil, content(was), content(is))
	slices.SortStableFunc(f, func(a, b FieldChange) int { return cmp.Compare(a.Path, b.Path) })
	return f
}

func content(o *unstructured.Unstructured) map[string]any {
	if o == nil {
		return nil
	}
	return o.Object
}

type fields []FieldChange

// unset stands for the value of a field that is not there. A null is there.
type unset struct{}

// valueOf returns the value of a field, which may be unset.
func valueOf(fields map[string]any, key string) any {
	if value, isSet := fields[key]; isSet {
		return value
	}
	return unset{}
}

func isUnset(value any) bool { return value == any(unset{}) }

func (f *fields) add(path *field.Path, before, after any) {
	*f = append(*f, FieldChange{path.String(), textOf(before, after), textOf(after, before)})
}

// textOf returns the text of a value beside another.
func textOf(value, other any) *string {
	if isUnset(value) {
		return nil
	}
	text, isText := value.(string)
	if !isText || readsLikeOther(text, other) {
		text = manifest.JSON(value)
	}
	return &text
}

// readsLikeOther reports whether a text may be taken for a value of another type.
func readsLikeOther(text string, other any) bool {
	_, isText := other.(string)
	switch {
	case isText:
		return false
	case isUnset(other):
		return text == "unset"
	}
	return json.Valid([]byte(text))
}

// compare adds the changes between two values, which may be unset.
func (f *fields) compare(path *field.Path, before, after any) {
	if reflect.DeepEqual(before, after) {
		return
	}
	was, wasMap := before.(map[string]any)
	is, isMap := after.(map[string]any)
	old, wasList := before.([]any)
	current, isList := after.([]any)
	switch {
	case isMap && (wasMap || isUnset(before)) && len(is)+len(was) > 0:
		f.compareMaps(path, was, is)
	case isList && (wasList || isUnset(before)) && len(current)+len(old) > 0:
		f.compareLists(path, old, current)
	default:
		f.add(path, before, after)
	}
}

// plainKey matches keys that need no brackets in a path.
var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func (f *fields) compareMaps(path *field.Path, before, after map[string]any) {
	for _, key := range sets.List(sets.KeySet(before).Union(sets.KeySet(after))) {
		child := path.Key(key)
		if plainKey.MatchString(key) {
			child = path.Child(key)
		}
		f.compare(child, valueOf(before, key), valueOf(after, key))
	}
}

// compareLists compares items with unique names by name. It compares others in their order, without
// equal items at the start and at the end.
func (f *fields) compareLists(path *field.Path, before, after []any) {
	was, old, wasNamed := byName(before)
	is, current, isNamed := byName(after)
	if wasNamed && isNamed {
		for _, name := range old {
			f.compare(path.Key(name), valueOf(was, name), valueOf(is, name))
		}
		for _, name := range Without(current, old) {
			f.compare(path.Key(name), unset{}, is[name])
		}
		if a, b := Without(old, Without(old, current)), Without(current, Without(current, old)); !slices.Equal(a, b) {
			f.add(path, a, b) // the order
		}
		return
	}
	start := 0
	for start < min(len(before), len(after)) && reflect.DeepEqual(before[start], after[start]) {
		start++
	}
	end := 0
	for end < min(len(before), len(after))-start &&
		reflect.DeepEqual(before[len(before)-1-end], after[len(after)-1-end]) {
		end++
	}
	f.compareItems(path, start, before[start:len(before)-end], after[start:len(after)-end])
}

// compareItems compares lists of equal lengths item by item. Of other lists it finds the added or
// removed items, if the rest is the same in the same order.
func (f *fields) compareItems(path *field.Path, start int, before, after []any) {
	if len(before) == len(after) {
		for i := range after {
			f.compare(path.Index(start+i), before[i], after[i])
		}
		return
	}
	removed, isShorter := missing(before, after)
	added, isLonger := missing(after, before)
	for _, i := range removed {
		if !isLonger {
			f.add(path.Index(start+i), before[i], unset{})
		}
	}
	for _, i := range added {
		if !isShorter {
			f.compare(path.Index(start+i), unset{}, after[i])
		}
	}
}

// missing returns the indexes of the items that are not in a list. It reports whether all items of
// the list are among the items, in the same order.
func missing(items, list []any) (left []int, hasAll bool) {
	for i, item := range items {
		if len(list) > 0 && reflect.DeepEqual(item, list[0]) {
			list = list[1:]
		} else {
			left = append(left, i)
		}
	}
	return left, len(list) == 0
}

// byName returns the items of a list by their names, and the names in order. It reports whether each
// item has a name of its own.
func byName(list []any) (items map[string]any, names []string, ok bool) {
	items = map[string]any{}
	for _, item := range list {
		fields, _ := item.(map[string]any)
		name, _ := fields["name"].(string)
		if name == "" || items[name] != nil {
			return nil, nil, false
		}
		items[name] = item
		names = append(names, name)
	}
	return items, names, true
}

// Without returns the values that are not in others, each once.
func Without(values, others []string) (left []string) {
	known := sets.New(others...)
	for _, v := range values {
		if !known.Has(v) {
			known.Insert(v)
			left = append(left, v)
		}
	}
	return left
}
