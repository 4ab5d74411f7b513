package verdict

import (
	"cmp"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/gatehouse/render/decoding"
)

// mergeKeys are the fields by which server-side apply tells the items of a list of built-in
// kinds apart, outside of a status: the first key of each such list, and the second if it has
// one. A protocol is TCP where it is left out.
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

// mayClash reports whether the server might be unable to merge a valid object of a built-in
// kind, or a part of one: whether a list in it has two items that are alike, or a null.
// Only for those is the schema worth its time, as it takes longer to parse than most
// environments take to render.
func mayClash(content any) bool {
	switch content := content.(type) {
	case map[string]any:
		for key, value := range content {
			if key == "secrets" || key == "status" || mayClash(value) { // their lists have keys of other names, and without defaults
				return true
			}
		}
	case []any:
		return hasTwins(content)
	}
	return false
}

// hasTwins reports whether a list has a null, two equal scalars, or two objects with the same
// value of a merge key, itself or deeper.
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
			if len(item) == 0 && isSecond("name", "", "TCP") || mayClash(item) { // as a reference without a name
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

// isPlainMetadata reports whether metadata fits its type, and has no lists that may clash.
func isPlainMetadata(metadata map[string]any) bool {
	return !mayClash(metadata) && len(decoding.Find(metadata, reflect.TypeFor[metav1.ObjectMeta](), decoding.Options{})) == 0
}
