package live

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// valueAt returns what a path of managed fields leads to.
func valueAt(in any, path fieldpath.Path) (any, bool) {
	for _, element := range path {
		var ok bool
		if in, ok = step(in, element); !ok {
			return nil, false
		}
	}
	return in, true
}

func step(in any, element fieldpath.PathElement) (any, bool) {
	switch in := in.(type) {
	case map[string]any:
		if element.FieldName == nil {
			return nil, false
		}
		next, ok := in[*element.FieldName]
		return next, ok
	case []any:
		if i := indexOf(in, element); i >= 0 {
			return in[i], true
		}
	}
	return nil, false
}

// indexOf is the index of the item of a list that an element of a path leads to; -1 of none.
func indexOf(list []any, element fieldpath.PathElement) int {
	switch {
	case element.Index != nil && *element.Index < len(list):
		return *element.Index
	case element.Value != nil:
		return slices.IndexFunc(list, func(item any) bool { return value.Equals(value.NewValueInterface(item), *element.Value) })
	case element.Key != nil:
		return slices.IndexFunc(list, func(item any) bool {
			fields, ok := item.(map[string]any)
			return ok && !slices.ContainsFunc(*element.Key, func(key value.Field) bool {
				return !value.Equals(value.NewValueInterface(fields[key.Name]), key.Value)
			})
		})
	}
	return -1
}

// without is an object without the fields that are in one set and not in another. What holds
// fields goes with them, where nothing else is in it.
func without(o *unstructured.Unstructured, fields, kept *fieldpath.Set) *unstructured.Unstructured {
	leaves := fields.Leaves()
	content := any(o.Object)
	leaves.Difference(kept).Iterate(func(path fieldpath.Path) {
		if !isKey(path) && !holds(kept, path) {
			content = removed(content, path, func(any) bool { return true })
		}
	})
	var holders []fieldpath.Path
	fields.Difference(leaves).Difference(kept).Iterate(func(path fieldpath.Path) { holders = append(holders, slices.Clone(path)) })
	slices.SortStableFunc(holders, func(a, b fieldpath.Path) int { return len(b) - len(a) })
	for _, path := range holders {
		content = removed(content, path, func(held any) bool { return isEmpty(held, path) })
	}
	rest, _ := content.(map[string]any)
	return &unstructured.Unstructured{Object: rest}
}

// holds says whether a set has fields below a path.
func holds(set *fieldpath.Set, path fieldpath.Path) bool {
	for _, element := range path {
		set = set.WithPrefix(element)
	}
	return !set.Empty()
}

// isKey says whether a path leads to a field by which an item of a list is found.
func isKey(path fieldpath.Path) bool {
	if len(path) < 2 || path[len(path)-2].Key == nil || path[len(path)-1].FieldName == nil {
		return false
	}
	return slices.ContainsFunc(*path[len(path)-2].Key, func(key value.Field) bool { return key.Name == *path[len(path)-1].FieldName })
}

// isEmpty says whether what a path leads to holds nothing, but for the key of an item.
func isEmpty(held any, path fieldpath.Path) bool {
	switch held := held.(type) {
	case map[string]any:
		key := path[len(path)-1].Key
		return len(held) == 0 || key != nil && len(held) == len(*key)
	case []any:
		return len(held) == 0
	}
	return false
}

// removed is content without what a path leads to, if that is as condition says; a copy as
// far as it is changed.
func removed(content any, path fieldpath.Path, condition func(any) bool) any {
	next, ok := step(content, path[0])
	isLast := len(path) == 1
	if !ok || isLast && !condition(next) {
		return content
	}
	switch content := content.(type) {
	case map[string]any:
		content = maps.Clone(content)
		if isLast {
			delete(content, *path[0].FieldName)
		} else {
			content[*path[0].FieldName] = removed(next, path[1:], condition)
		}
		return content
	case []any:
		content = slices.Clone(content)
		i := indexOf(content, path[0])
		if isLast {
			return slices.Delete(content, i, i+1)
		}
		content[i] = removed(next, path[1:], condition)
		return content
	}
	return content
}
