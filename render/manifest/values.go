package manifest

import "iter"

// Values yields content and every value in it, each after the one that holds it, with its key in a
// mapping. The key is empty for content and for the items of a list.
func Values(content any) iter.Seq2[string, any] {
	return func(yield func(key string, value any) bool) { _ = yield("", content) && yieldInner(content, yield) }
}

// yieldInner yields the values in content, and reports whether yield took all of them.
func yieldInner(content any, yield func(key string, value any) bool) bool {
	switch content := content.(type) {
	case map[string]any:
		for key, value := range content {
			if !yield(key, value) || !isScalar(value) && !yieldInner(value, yield) {
				return false
			}
		}
	case []any:
		for _, item := range content {
			if !yield("", item) || !isScalar(item) && !yieldInner(item, yield) {
				return false
			}
		}
	}
	return true
}

// isScalar reports whether a value holds no others.
func isScalar(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// Contains reports whether one of the Values of content is as wanted.
func Contains(content any, isWanted func(key string, value any) bool) bool {
	for key, value := range Values(content) {
		if isWanted(key, value) {
			return true
		}
	}
	return false
}
