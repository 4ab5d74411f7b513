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

// Types returns the JSON types that a Go type decodes: those that it declares, as the types of
// Kubernetes do, or those of encoding/json. It returns nil where the type decodes itself and
// declares nothing, or decodes everything.
func Types(t reflect.Type) []string {
	if known, ok := jsonTypes.Load(t); ok {
		return known.([]string)
	}
	types := typesOf(t)
	jsonTypes.Store(t, types)
	return types
}

var jsonTypes sync.Map // of []string, by reflect.Type

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

// fromOpenAPI returns the JSON types that types of OpenAPI are, string before number.
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

// exact returns the names of JSON types, and for a number the Go type of it.
func exact(types []string, t reflect.Type) []string {
	if slices.Equal(types, []string{"number"}) {
		return []string{t.Kind().String()}
	}
	return types
}

// decodesItself reports whether a Go type has a way of its own to be decoded.
func decodesItself(t reflect.Type) bool {
	switch reflect.New(t).Interface().(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler:
		return true
	}
	return false
}

// Field is a field of a struct, as JSON names it.
type Field struct {
	Name string
	Type reflect.Type
}

// Fields returns the fields of a struct and those of the structs that it embeds. Of two with
// one name it returns that of the outer struct.
func Fields(t reflect.Type) []Field {
	if known, ok := structFields.Load(t); ok {
		return known.([]Field)
	}
	fields := fieldsOf(t)
	structFields.Store(t, fields)
	return fields
}

var structFields sync.Map // of []Field, by reflect.Type

// fieldsOf returns the fields of a struct that is embedded in others.
func fieldsOf(t reflect.Type, within ...reflect.Type) (fields []Field) {
	if slices.Contains(within, t) { // it embeds a pointer to itself
		return nil
	}
	within = append(within, t)
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
			embedded = append(embedded, fieldsOf(inner, within...)...)
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
