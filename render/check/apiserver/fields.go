package apiserver

import (
	"reflect"
	"strings"
)

// Siblings are the names of the fields that are known where a path leads that has a field
// which is not: keys, and indexes of lists.
func (k Kind) Siblings(path []string) []string {
	versioned, err := k.scheme.New(k.GroupVersionKind)
	if err != nil || len(path) == 0 {
		return nil
	}
	t := reflect.TypeOf(versioned)
	for _, key := range path[:len(path)-1] {
		if t = fieldType(elem(t), key); t == nil {
			return nil
		}
	}
	var names []string
	addNames(elem(t), &names)
	return names
}

// elem is what a type points to.
func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// fieldType is the type of what a key or index leads to in a type; nil if that is nothing.
func fieldType(t reflect.Type, key string) reflect.Type {
	switch t.Kind() {
	case reflect.Slice, reflect.Map:
		return t.Elem()
	case reflect.Struct:
		for field := range t.Fields() {
			name, isInline := jsonName(field)
			if name == key {
				return field.Type
			}
			if isInline && fieldType(elem(field.Type), key) != nil {
				return fieldType(elem(field.Type), key)
			}
		}
	}
	return nil
}

// addNames adds the names of the fields of a struct.
func addNames(t reflect.Type, names *[]string) {
	if t.Kind() != reflect.Struct {
		return
	}
	for field := range t.Fields() {
		switch name, isInline := jsonName(field); {
		case isInline:
			addNames(elem(field.Type), names)
		case name != "":
			*names = append(*names, name)
		}
	}
}

// jsonName is the name of a field in JSON, where its own fields are not in its place.
func jsonName(field reflect.StructField) (name string, isInline bool) {
	name, _, _ = strings.Cut(field.Tag.Get("json"), ",")
	return strings.Trim(name, "-"), name == "" && field.Anonymous
}
