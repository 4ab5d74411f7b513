package apply

import (
	"cmp"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/gatehouse/render/decoding"
)

// mergeKeys has the merge keys of lists in built-in kinds, outside of a status: the first key of each
// list, with its second key if it has one. The default protocol is TCP.
var mergeKeys = map[string]string{
	"containerPort": "protocol",
	"devicePath":    "",
	"ip":            "",
	"mountPath":     "",
	"name":          "",
	"port":          "protocol",
	"topologyKey":   "whenUnsatisfiable",
	"uid":           "",
}

// mayHaveTwins reports whether a list in content has equal items or a null, so that a merge may
// fail. Only then the schema is parsed, which takes longer than most environments take to render.
func mayHaveTwins(content any) bool {
	switch content := content.(type) {
	case map[string]any:
		for key, value := range content {
			if key == "secrets" || key == "status" || mayHaveTwins(value) { // these have other keys, and no defaults
				return true
			}
		}
	case []any:
		return hasTwins(content)
	}
	return false
}

// hasTwins reports whether a list, or a list in it, has a null, equal scalars, or objects with an
// equal merge key.
func hasTwins(list []any) bool {
	type identity struct{ key, value, second string }
	seen := map[identity]bool{}
	isSecond := func(key string, value, second any) bool {
		id := identity{key, fmt.Sprint(value), fmt.Sprint(second)}
		defer func() { seen[id] = true }()
		return seen[id]
	}
	for _, item := range list {
		switch item := item.(type) {
		case map[string]any:
			if len(item) == 0 && isSecond("name", "", "TCP") || mayHaveTwins(item) { // {} is a reference without a name
				return true
			}
			for key, second := range mergeKeys {
				if value, ok := item[key]; ok && isSecond(key, value, cmp.Or(item[second], any("TCP"))) {
					return true
				}
			}
		case []any:
			if hasTwins(item) {
				return true
			}
		default:
			if item == nil || isSecond("", item, "") {
				return true
			}
		}
	}
	return false
}

// isPlainMetadata reports whether metadata fits its type and has no twins.
func isPlainMetadata(metadata map[string]any) bool {
	return !mayHaveTwins(metadata) &&
		len(decoding.Find(metadata, reflect.TypeFor[metav1.ObjectMeta](), decoding.Options{})) == 0
}
