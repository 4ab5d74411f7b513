package explain

import "slices"

// mergeKeys are the keys by which the API server merges lists of built-in kinds.
var mergeKeys = []string{"mountPath", "devicePath", "containerPort", "ip", "name", "topologyKey", "type", "port"}

// aligned returns content with the items of its lists in the order in which other content has those of
// the same key: a merge puts the items of a patch first, and an item that it changes is that item still.
func aligned(content, other any) any {
	switch content := content.(type) {
	case map[string]any:
		others, _ := other.(map[string]any)
		result := make(map[string]any, len(content))
		for key, value := range content {
			result[key] = aligned(value, others[key])
		}
		return result
	case []any:
		others, _ := other.([]any)
		for _, key := range mergeKeys {
			if was, is := byKey(content, key), byKey(others, key); was != nil && is != nil {
				return alignedItems(content, others, key, was)
			}
		}
	}
	return content
}

// alignedItems returns the items of a list, those that another list has first, in its order.
func alignedItems(items, others []any, key string, byValue map[any]any) []any {
	result := make([]any, 0, len(items))
	for _, other := range others {
		if item, ok := byValue[other.(map[string]any)[key]]; ok {
			result = append(result, aligned(item, other))
		}
	}
	shared := byKey(others, key)
	return append(result, slices.DeleteFunc(slices.Clone(items), func(item any) bool {
		_, isShared := shared[item.(map[string]any)[key]]
		return isShared
	})...)
}

// byKey returns the items of a list by their values of a key; nil where one has no text or number there,
// or that of another.
func byKey(items []any, key string) map[any]any {
	found := make(map[any]any, len(items))
	for _, item := range items {
		fields, _ := item.(map[string]any)
		switch value := fields[key].(type) {
		case string, int64, float64:
			if _, isThere := found[value]; isThere {
				return nil
			}
			found[value] = item
		default:
			return nil
		}
	}
	return found
}
