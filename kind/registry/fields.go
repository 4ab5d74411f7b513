package registry

import (
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// checkFields finds what is wrong with the Fields.
func (e *entry) checkFields(root *apiextensionsv1.JSONSchemaProps) {
	fields := e.Fields()
	for i, path := range fields.Images {
		e.checkField(fmt.Sprintf("Fields.Images[%d]", i), path, "string", root)
	}
	for i, path := range fields.Replicas {
		e.checkField(fmt.Sprintf("Fields.Replicas[%d]", i), path, "integer", root)
	}
	for i, r := range fields.References {
		at := fmt.Sprintf("Fields.References[%d]", i)
		own := e.GVK().GroupKind()
		isTo := r.To.Empty() || e.Child(r.To.GroupKind()) != nil || e.isWritten(r.To.GroupKind())
		e.addIf(!r.In.Empty() && r.In != own && !isTo, "%s is neither a field of %s nor names one: leave out In, or To", at, own.Kind)
		if r.In.Empty() || r.In == own {
			e.checkField(at, r.Field, "", root)
			e.addIf(r.To.Empty(), "%s: say in To what the field names, like v1 ConfigMap", at)
		} else {
			e.addIf(r.Field == "", "%s has no path: write that of a field, like spec.service.name", at)
		}
	}
}

// checkField finds what is wrong with a path of the Fields, of a field that has a type, or any
// where that is empty.
func (e *entry) checkField(at, path, want string, root *apiextensionsv1.JSONSchemaProps) {
	switch field := fieldAt(root, strings.Split(path, "."), true); {
	case path == "":
		e.add("%s has no path: write that of a field, like spec.image", at)
	case strings.HasPrefix(path, "metadata."):
	case field == nil:
		e.add("%s: the CustomResourceDefinition has no field %s: correct the path", at, path)
	case want != "" && field.Type != want && field.Type != "":
		e.add("%s: the field %s is of type %s in the CustomResourceDefinition: write the path of one of type %s", at, path, field.Type, want)
	}
}

// checkPaths finds what is wrong with the paths of the kind, which are of its schema.
func (e *entry) checkPaths(root *apiextensionsv1.JSONSchemaProps) {
	for i, path := range e.KeepDefaults() {
		e.addIf(fieldAt(root, strings.Split(path, "."), false) == nil,
			"KeepDefaults[%d]: the CustomResourceDefinition has no field %q: write the path of one, like spec.image", i, path)
	}
	if e.TimeField() != "" {
		field := fieldAt(root, strings.Split(e.TimeField(), "."), false)
		e.addIf(field == nil || field.Type != "string", "TimeField: the CustomResourceDefinition has no string %q: write the path of one, like spec.schedule", e.TimeField())
	}
}

// fieldAt returns the schema of the field at a path; nil where there is none. With throughLists, a
// path goes on in the items of a list.
func fieldAt(s *apiextensionsv1.JSONSchemaProps, path []string, throughLists bool) *apiextensionsv1.JSONSchemaProps {
	if len(path) == 0 {
		return s
	}
	for throughLists && s.Type == "array" && s.Items != nil && s.Items.Schema != nil {
		s = s.Items.Schema
	}
	if property, ok := s.Properties[path[0]]; ok {
		return fieldAt(&property, path[1:], throughLists)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		return fieldAt(s.AdditionalProperties.Schema, path[1:], throughLists)
	}
	if s.Type == "" && !s.XIntOrString || s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields {
		return s // it takes anything
	}
	return nil
}
