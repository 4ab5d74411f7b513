package explain

import (
	"maps"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/object"
)

// Field is a field that changed.
type Field struct {
	Path string `json:"path"`
	// Before and After are its values; nil where it is not there.
	Before any `json:"before,omitempty"`
	After  any `json:"after,omitempty"`
}

// hidden stands for a value of a Secret.
const hidden = "(hidden)"

// fieldsOf are the fields in which two objects differ, in the order of their paths.
func fieldsOf(before, after *unstructured.Unstructured) []Field {
	d := &differences{fields: []Field{}}
	var was map[string]any
	if before != nil {
		was = before.Object
	}
	d.maps(nil, was, after.Object)
	if after.GetKind() == "Secret" {
		for i, f := range d.fields {
			if isSecret(f) {
				d.fields[i].Before, d.fields[i].After = hide(f.Before), hide(f.After)
			}
		}
	}
	return d.fields
}

// isSecret says whether a field of a Secret has its values.
func isSecret(f Field) bool {
	keys := object.SplitField(f.Path)
	if len(keys) > 1 && keys[0] == "metadata" && keys[1] == "annotations" {
		return holdsSecret(keys[len(keys)-1], f.Before) || holdsSecret(keys[len(keys)-1], f.After)
	}
	return len(keys) > 0 && (keys[0] == "data" || keys[0] == "stringData")
}

// holdsSecret says whether an annotation, or one of several, holds a Secret.
func holdsSecret(key string, value any) bool {
	if annotations, ok := value.(map[string]any); ok {
		for key, value := range annotations {
			if holdsSecret(key, value) {
				return true
			}
		}
	}
	text, _ := value.(string)
	return object.MayHoldSecret(key, text)
}

func hide(value any) any {
	if value == nil {
		return nil
	}
	return hidden
}

type differences struct{ fields []Field }

func (d *differences) values(path []string, before, after any) {
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			d.maps(path, b, a)
			return
		}
	case []any:
		if a, ok := after.([]any); ok {
			d.lists(path, b, a)
			return
		}
	}
	if !reflect.DeepEqual(before, after) {
		d.fields = append(d.fields, Field{object.JoinField(path), before, after})
	}
}

func (d *differences) maps(path []string, before, after map[string]any) {
	both := map[string]any{}
	maps.Copy(both, before)
	maps.Copy(both, after)
	for _, key := range slices.Sorted(maps.Keys(both)) {
		b, isBefore := before[key]
		a, isAfter := after[key]
		at := append(slices.Clip(path), key)
		switch {
		case isBefore && isAfter:
			d.values(at, b, a)
		case isBefore:
			d.fields = append(d.fields, Field{Path: object.JoinField(at), Before: orNull(b)})
		default:
			d.fields = append(d.fields, Field{Path: object.JoinField(at), After: orNull(a)})
		}
	}
}

// lists compares what is between the items that two lists begin and end with.
func (d *differences) lists(path []string, before, after []any) {
	same := 0
	for same < min(len(before), len(after)) && reflect.DeepEqual(before[same], after[same]) {
		same++
	}
	end := 0
	for end < min(len(before), len(after))-same && reflect.DeepEqual(before[len(before)-1-end], after[len(after)-1-end]) {
		end++
	}
	gone, come := before[same:len(before)-end], after[same:len(after)-end]
	for i := range max(len(gone), len(come)) {
		at := append(slices.Clip(path), "["+strconv.Itoa(same+i)+"]")
		switch {
		case i >= len(gone):
			d.fields = append(d.fields, Field{Path: object.JoinField(at), After: orNull(come[i])})
		case i >= len(come):
			d.fields = append(d.fields, Field{Path: object.JoinField(at), Before: orNull(gone[i])})
		default:
			d.values(at, gone[i], come[i])
		}
	}
}

// orNull is a value that is there, though it be null.
func orNull(value any) any {
	if value == nil {
		return "null"
	}
	return value
}
