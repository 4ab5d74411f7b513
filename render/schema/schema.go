// Package schema makes the schema of a rendered environment for editors.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

// jsonSchema is a JSON Schema, or the similar schema of a CustomResourceDefinition.
type jsonSchema = map[string]any

// File returns a JSON Schema for editors. It checks objects of the kinds, and accepts all others. It has no content if
// an environment of some objects has neither definitions nor objects of these kinds.
func File(kinds *registry.Kinds, objects []manifest.Object) (tree.File, error) {
	content, err := editorSchema(kinds.Views(kind.Environment{All: manifest.Untyped(objects)}, nil))
	return tree.File{Path: tree.SchemaFile, Content: content}, err
}

func editorSchema(views []registry.View) ([]byte, error) {
	var kinds []any
	for _, v := range views {
		definition := v.CRD
		if definition == nil && len(v.Objects) > 0 {
			definition = &unstructured.Unstructured{}
			if err := yaml.Unmarshal(v.Kind.CRD(), &definition.Object); err != nil {
				return nil, fmt.Errorf("CustomResourceDefinition of %s: %w", v.Kind.GVK().Kind, err)
			}
		}
		if definition != nil {
			kinds = append(kinds, versionSchemas(definition)...)
		}
	}
	if len(kinds) == 0 {
		return nil, nil
	}
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(jsonSchema{"$schema": "http://json-schema.org/draft-07/schema#", "allOf": kinds})
	return append([]byte(tree.SchemaHeader), bytes.TrimPrefix(content.Bytes(), []byte("{\n"))...), err
}

// versionSchemas returns a schema for each version in a CustomResourceDefinition.
func versionSchemas(definition *unstructured.Unstructured) (schemas []any) {
	gk := crd.Kind(definition)
	for _, version := range crd.Versions(definition) {
		if version.Schema == nil {
			continue
		}
		schema := runtime.DeepCopyJSON(version.Schema)
		properties, _ := schema["properties"].(jsonSchema)
		if properties == nil {
			properties = jsonSchema{}
			schema["properties"] = properties
		}
		translate(schema, true)
		typed := jsonSchema{"apiVersion": jsonSchema{"const": gk.Group + "/" + version.Name},
			"kind": jsonSchema{"const": gk.Kind}}
		for name, is := range typed {
			properties[name] = is
		}
		properties["metadata"] = jsonSchema{"type": "object"}
		if properties["status"] != nil {
			properties["status"] = jsonSchema{} // is for controllers
		}
		schemas = append(schemas,
			jsonSchema{"if": jsonSchema{"properties": typed, "required": []string{"apiVersion", "kind"}},
				"then": schema})
	}
	return schemas
}

// translate converts a schema of Kubernetes to JSON Schema draft 7. In its structural parts, it forbids
// fields that the API server would drop; other parts only validate values.
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
func translate(schema jsonSchema, isStructural bool) {
	isOpen := schema["x-kubernetes-preserve-unknown-fields"] == true || schema["x-kubernetes-embedded-resource"] == true
	if properties, ok := schema["properties"].(jsonSchema); ok {
		if isStructural && !isOpen {
			schema["additionalProperties"] = false
		}
		for _, field := range properties {
			translateAny(field, isStructural)
		}
	} else {
		translateAny(schema["additionalProperties"], isStructural)
	}
	translateAny(schema["items"], isStructural)
	for _, part := range []string{"allOf", "anyOf", "oneOf", "not"} {
		translateAny(schema[part], false)
	}
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		isExclusive, ok := schema[exclusive].(bool)
		if ok {
			delete(schema, exclusive)
		}
		if isExclusive {
			schema[exclusive] = schema[bound]
		}
	}
	if schema["nullable"] == true && schema["type"] != nil {
		schema["type"] = []any{schema["type"], "null"}
	}
	for key := range schema {
		if strings.HasPrefix(key, "x-kubernetes-") || key == "nullable" || key == "example" {
			delete(schema, key)
		}
	}
}

func translateAny(part any, isStructural bool) {
	switch part := part.(type) {
	case jsonSchema:
		translate(part, isStructural)
	case []any:
		for _, one := range part {
			translateAny(one, isStructural)
		}
	}
}
