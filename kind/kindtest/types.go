package kindtest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/decoding"
)

// typeDifferences returns where the Go type of a kind and its schema differ: what a valid
// object says would get lost there, or could not be read.
func typeDifferences(k kind.Kind) []string {
	crd, err := registry.ReadCRD(k.CRD())
	if err != nil {
		return []string{err.Error()}
	}
	c := &comparison{}
	for _, version := range crd.Spec.Versions {
		if version.Name != k.GVK().Version || version.Schema == nil {
			continue
		}
		root := version.Schema.OpenAPIV3Schema
		c.properties("", reflect.TypeOf(k.New()).Elem(), root)
		if status := root.Properties["status"]; k.HasExpand() && !k.HasStatus() && k.Gate() == "" {
			c.present("status", reflect.TypeFor[kind.Status](), &status) // the controller writes it
		}
	}
	return c.found
}

// comparison collects the differences between a Go type and a schema.
type comparison struct{ found []string }

func (c *comparison) add(path, format string, args ...any) {
	c.found = append(c.found, path+": "+fmt.Sprintf(format, args...))
}

// value compares what is at a path, as deep as the schema goes, which ends where a type may
// not.
func (c *comparison) value(path string, t reflect.Type, s *apiextensionsv1.JSONSchemaProps) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	takes, reads := schemaTypes(s), decoding.Types(t)
	if takes == nil || reads == nil {
		return
	}
	isRead := func(name string) bool { return slices.Contains(reads, name) }
	isFraction := s.Type == "number" && reflect.Int <= t.Kind() && t.Kind() <= reflect.Uint64
	if isFraction || slices.ContainsFunc(takes, func(name string) bool { return !isRead(name) }) {
		c.add(path, "%s in the CustomResourceDefinition, %s in the Go type", strings.Join(takes, " or "), t)
		return
	}
	switch {
	case isOfKubernetes(t): // whose schemas are right
	case t.Kind() == reflect.Struct:
		c.properties(path, t, s)
	case t.Kind() == reflect.Map && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		c.value(path+"[*]", t.Elem(), s.AdditionalProperties.Schema)
	case t.Kind() == reflect.Slice && s.Items != nil && s.Items.Schema != nil:
		c.value(path+"[*]", t.Elem(), s.Items.Schema)
	}
}

// properties compares a struct with the schema of an object.
func (c *comparison) properties(path string, t reflect.Type, s *apiextensionsv1.JSONSchemaProps) {
	if s.AdditionalProperties != nil {
		c.add(path, "any keys in the CustomResourceDefinition, a struct in the Go type")
		return
	}
	c.present(path, t, s)
	fields := decoding.Fields(t)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.ContainsFunc(fields, func(f decoding.Field) bool { return f.Name == name }) && !isOfAll(path, name, s) {
			c.add(join(path, name), "in the CustomResourceDefinition, not in the Go type")
		}
	}
}

// present compares the fields of a struct with the properties of a schema, which may have more.
func (c *comparison) present(path string, t reflect.Type, s *apiextensionsv1.JSONSchemaProps) {
	takesAnyKey := s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
	for _, field := range decoding.Fields(t) {
		property, ok := s.Properties[field.Name]
		switch at := join(path, field.Name); {
		case isOfAll(path, field.Name, s):
		case ok:
			c.value(at, field.Type, &property)
		case !takesAnyKey:
			c.add(at, "in the Go type, not in the CustomResourceDefinition")
		}
	}
}

// isOfAll reports whether a field is one of every object, which a schema may leave out.
func isOfAll(path, name string, s *apiextensionsv1.JSONSchemaProps) bool {
	return (path == "" || s.XEmbeddedResource) && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// schemaTypes returns the JSON types that a schema takes; nil for all.
func schemaTypes(s *apiextensionsv1.JSONSchemaProps) []string {
	switch {
	case s.Type == "integer":
		return []string{"number"}
	case s.Type == "boolean":
		return []string{"bool"}
	case s.Type != "":
		return []string{s.Type}
	case s.XIntOrString:
		return []string{"string", "number"}
	}
	return nil
}

// isOfKubernetes reports whether a type is one of Kubernetes.
func isOfKubernetes(t reflect.Type) bool {
	return slices.ContainsFunc([]string{"k8s.io/api/", "k8s.io/apimachinery/", "k8s.io/apiextensions-apiserver/"}, func(prefix string) bool {
		return strings.HasPrefix(t.PkgPath(), prefix)
	})
}
