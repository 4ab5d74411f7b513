package check

import (
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"

	"example.com/gatehouse/render/check/apiserver"
	"example.com/gatehouse/render/object"
)

// spell has the fields of an object that a kind does not know and that plainly mean another
// be read as those. So what is missing for such a mistake alone, in the rest, is no problem
// of its own. A field that stands for none, or for one that is there as well, stays unknown.
func (d *decoded) spell(content map[string]any, kind apiserver.Kind, unknown []string, read func(content map[string]any) (runtime.Object, error)) {
	if len(unknown) == 0 {
		return
	}
	spelled := runtime.DeepCopyJSON(content)
	before := len(d.unread)
	for _, path := range unknown {
		keys := object.SplitField(path)
		last := len(keys) - 1
		if name := object.Nearest(keys[last], kind.Siblings(keys)); name != "" && rename(spelled, keys, name) {
			d.unread = append(d.unread, path[:len(path)-len(keys[last])]+name)
		}
	}
	if len(d.unread) == before {
		return
	}
	if others, _ := read(spelled); others != nil {
		d.others = others
	}
}

// rename gives a field of content another name, and says whether it was there, and none of
// that name.
func rename(content any, keys []string, name string) bool {
	for i, key := range keys {
		switch c := content.(type) {
		case map[string]any:
			if i == len(keys)-1 {
				value, isThere := c[key]
				if _, isTaken := c[name]; isTaken || !isThere {
					return false
				}
				delete(c, key)
				c[name] = value
				return true
			}
			content = c[key]
		case []any:
			index, err := strconv.Atoi(key)
			if err != nil || index >= len(c) {
				return false
			}
			content = c[index]
		}
	}
	return false
}
