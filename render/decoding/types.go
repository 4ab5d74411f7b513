package decoding

import (
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// TypeOf returns the JSON type of a value: object, array, string, bool or number.
func TypeOf(value any) string {
	switch value.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "bool"
	}
	return "number"
}

// shape describes how a Go type decodes JSON.
type shape struct {
	types  []string // the JSON types that it accepts; nil for any
	fields []Field  // of a struct
}

var shapes sync.Map // of *shape, by reflect.Type

func shapeOf(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	s := &shape{types: typesOf(t)}
	if t.Kind() == reflect.Struct {
		s.fields = fieldsOf(t)
	}
	shapes.Store(t, s)
	return s
}

// Fields returns the fields of a struct, and of the structs embedded in it.
func Fields(t reflect.Type) []Field { return shapeOf(t).fields }

// typesOf returns the JSON types that a Go type accepts: the types that it declares, as Kubernetes
// types do, or the types of encoding/json. It returns nil if the type accepts any, or decodes itself
// and declares none.
func typesOf(t reflect.Type) []string {
	switch declares := reflect.New(t).Interface().(type) {
	case interface{ OpenAPIV3OneOfTypes() []string }:
		return fromOpenAPI(declares.OpenAPIV3OneOfTypes())
	case interface{ OpenAPISchemaType() []string }:
		return fromOpenAPI(declares.OpenAPISchemaType())
	case json.Unmarshaler:
		return nil
	case encoding.TextUnmarshaler:
		return []string{"string"}
	}
	switch t.Kind() {
	case reflect.Interface:
		return nil
	case reflect.Struct, reflect.Map:
		return []string{"object"}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return []string{"string", "array"} // base64, or numbers
		}
		return []string{"array"}
	case reflect.String:
		return []string{"string"}
	case reflect.Bool:
		return []string{"bool"}
	}
	return []string{"number"}
}

// fromOpenAPI converts OpenAPI types to JSON types, string before number.
func fromOpenAPI(names []string) (types []string) {
	for _, name := range names {
		switch name {
		case "integer":
			name = "number"
		case "boolean":
			name = "bool"
		}
		types = append(types, name)
	}
	slices.SortFunc(types, func(a, b string) int { return cmp.Compare(b, a) })
	return slices.Compact(types)
}

// exact returns JSON types, with the Go type in place of number.
func exact(types []string, t reflect.Type) []string {
	if slices.Equal(types, []string{"number"}) {
		return []string{t.Kind().String()}
	}
	return types
}

// decodesItself reports whether a Go type implements a decoder.
func decodesItself(t reflect.Type) bool {
	switch reflect.New(t).Interface().(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler:
		return true
	}
	return false
}

// Field is a field of a struct with its name in JSON.
type Field struct {
	Name string
	Type reflect.Type
}

// fieldsOf returns the fields of a struct. Outer fields hide embedded ones of the same name. The outer
// structs prevent endless recursion.
func fieldsOf(t reflect.Type, outer ...reflect.Type) (fields []Field) {
	if slices.Contains(outer, t) { // t embeds a pointer to itself
		return nil
	}
	outer = append(outer, t)
	var embedded []Field
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case tag == "-":
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			embedded = append(embedded, fieldsOf(inner, outer...)...)
		case !f.IsExported():
		case slices.Contains(strings.Split(options, ","), "string"): // a number in quotes
			fields = append(fields, Field{cmp.Or(name, f.Name), reflect.TypeFor[string]()})
		default:
			fields = append(fields, Field{cmp.Or(name, f.Name), f.Type})
		}
	}
	for _, f := range embedded {
		if !slices.ContainsFunc(fields, func(other Field) bool { return other.Name == f.Name }) {
			fields = append(fields, f)
		}
	}
	return fields
}
