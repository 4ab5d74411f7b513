package registry

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// matchType finds where the Go type of a kind and its schema differ: what a valid object
// says would get lost there, or could not be read.
func matchType(t reflect.Type, root *apiextensionsv1.JSONSchemaProps, found *problems) {
	if typesOf(t) != nil {
		matcher{t.String(), found}.properties("", t, root)
	}
}

// matcher finds differences between a Go type of a name and a schema.
type matcher struct {
	name  string
	found *problems
}

// value finds the differences at a path. It goes as deep as the schema does, which has an
// end where a type has none.
func (m matcher) value(path string, t reflect.Type, s *apiextensionsv1.JSONSchemaProps) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	reads, takes := typesOf(t), typesIn(s)
	if reads == nil || takes == nil {
		return
	}
	if !isSubset(takes, reads) {
		m.found.add("%s: %s in the CustomResourceDefinition, %s in %s: run controller-gen",
			path, strings.Join(takes, " or "), orKind(reads, t), m.name)
		return
	}
	switch {
	case isKubernetes(t):
	case t.Kind() == reflect.Struct:
		m.properties(path, t, s)
	case t.Kind() == reflect.Map && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		m.value(path+"[*]", t.Elem(), s.AdditionalProperties.Schema)
	case reads[0] == "array" && s.Items != nil && s.Items.Schema != nil:
		m.value(path+"[*]", t.Elem(), s.Items.Schema)
	}
}

// properties finds the differences between a struct and the schema of an object.
func (m matcher) properties(path string, t reflect.Type, s *apiextensionsv1.JSONSchemaProps) {
	if s.AdditionalProperties != nil {
		m.found.add("%s: any keys in the CustomResourceDefinition, a struct in %s: run controller-gen", path, m.name)
		return
	}
	known := map[string]bool{}
	for _, field := range fieldsOf(t) {
		known[field.name] = true
		property, ok := s.Properties[field.name]
		switch at := join(path, field.name); {
		case isOfAll(path, field.name, s):
		case ok:
			m.value(at, field.Type, &property)
		case !takesAnyKey(s):
			m.found.add("%s: in %s, not in the CustomResourceDefinition: run controller-gen", at, m.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !known[name] && !isOfAll(path, name, s) {
			m.found.add("%s: in the CustomResourceDefinition, not in %s: add the field, or run controller-gen", join(path, name), m.name)
		}
	}
}

// isOfAll says whether a field is one that all objects have, which a schema need not have.
func isOfAll(path, name string, s *apiextensionsv1.JSONSchemaProps) bool {
	return (path == "" || s.XEmbeddedResource) && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name)
}

func takesAnyKey(s *apiextensionsv1.JSONSchemaProps) bool {
	return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// typesIn are the JSON types that a schema takes, sorted; nil for all.
func typesIn(s *apiextensionsv1.JSONSchemaProps) []string {
	switch {
	case s.Type != "":
		return []string{s.Type}
	case s.XIntOrString:
		return []string{"integer", "string"}
	}
	return nil
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// typesOf are the JSON types that a Go type reads: those that it says by itself, as the
// types of Kubernetes do, or those of encoding/json; nil for all, or where nobody can tell.
func typesOf(t reflect.Type) []string {
	value := reflect.New(t).Interface()
	if says, ok := value.(interface{ OpenAPIV3OneOfTypes() []string }); ok {
		return append(says.OpenAPIV3OneOfTypes(), "integer") // which is a number
	}
	if says, ok := value.(interface{ OpenAPISchemaType() []string }); ok {
		return says.OpenAPISchemaType()
	}
	switch pointer := reflect.PointerTo(t); {
	case pointer.Implements(jsonMarshaler):
		return nil
	case pointer.Implements(textMarshaler):
		return []string{"string"}
	}
	return typesOfKind(t)
}

// typesOfKind are the JSON types of a Go type that has no way of its own to be written;
// none for what encoding/json cannot write.
func typesOfKind(t reflect.Type) []string {
	switch t.Kind() {
	case reflect.Interface:
		return nil
	case reflect.Struct, reflect.Map:
		return []string{"object"}
	case reflect.Slice, reflect.Array:
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
			return []string{"string"} // in base64
		}
		return []string{"array"}
	case reflect.String:
		return []string{"string"}
	case reflect.Bool:
		return []string{"boolean"}
	case reflect.Float32, reflect.Float64:
		return []string{"number", "integer"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return []string{"integer"}
	}
	return []string{}
}

// isSubset says whether all of some JSON types are among others.
func isSubset(some, others []string) bool {
	return !slices.ContainsFunc(some, func(name string) bool { return !slices.Contains(others, name) })
}

func orKind(types []string, t reflect.Type) string {
	if len(types) == 0 {
		return fmt.Sprintf("a %s, which has no JSON,", t.Kind())
	}
	return types[0]
}

// isKubernetes says whether a type is one of Kubernetes, whose schema is right.
func isKubernetes(t reflect.Type) bool {
	return slices.ContainsFunc([]string{"k8s.io/api/", "k8s.io/apimachinery/", "k8s.io/apiextensions-apiserver/"}, func(prefix string) bool {
		return strings.HasPrefix(t.PkgPath(), prefix)
	})
}

// field is a field of a struct, as JSON names it.
type field struct {
	name string
	reflect.Type
}

// fieldsOf are the fields of a struct and those of the structs that it embeds, as
// encoding/json has them, of a struct that may be embedded in others. Of two of one name,
// that of the outer struct is meant.
func fieldsOf(t reflect.Type, within ...reflect.Type) (fields []field) {
	if slices.Contains(within, t) { // it embeds a pointer to itself
		return nil
	}
	within = append(within, t)
	var embedded []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case f.Tag.Get("json") == "-":
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			embedded = append(embedded, fieldsOf(inner, within...)...)
		case !f.IsExported():
		case slices.Contains(strings.Split(options, ","), "string"): // a number in quotes
			fields = append(fields, field{cmp.Or(name, f.Name), reflect.TypeFor[string]()})
		default:
			fields = append(fields, field{cmp.Or(name, f.Name), f.Type})
		}
	}
	for _, f := range embedded {
		if !slices.ContainsFunc(fields, func(other field) bool { return other.name == f.name }) {
			fields = append(fields, f)
		}
	}
	return fields
}

// hasPath says whether a schema has a field. Where it goes through lists, a path is that
// of a field of each item.
func hasPath(s *apiextensionsv1.JSONSchemaProps, path []string, throughLists bool) bool {
	for throughLists && s.Type == "array" && s.Items != nil && s.Items.Schema != nil {
		s = s.Items.Schema
	}
	if len(path) == 0 || typesIn(s) == nil {
		return true
	}
	if property, ok := s.Properties[path[0]]; ok {
		return hasPath(&property, path[1:], throughLists)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		return hasPath(s.AdditionalProperties.Schema, path[1:], throughLists)
	}
	return takesAnyKey(s)
}
