package setup

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/utils/ptr"
)

// usualTexts has a text for each format of the API server, and for common patterns.
var usualTexts = []string{
	"STRING", "string", "1h", "1Gi", "1", "v1", "v1.0.0", "1.0.0", "50%", "sample.example.com", "https://example.com/", "registry.example.com/sample:v1.0.0",
	"2030-01-31T10:00:00Z", "2030-01-31", "10:00", "0 3 * * *", "192.0.2.1", "192.0.2.0/24", "2001:db8::1", "ada@example.com", "/sample",
	"dGV4dA==", "#ffffff", "rgb(1,2,3)", "02:00:00:00:00:01", "6ba7b810-9dad-41d1-80b4-00c04fd430c8",
}

// findExample returns a valid value for a schema, or nil: the example or default of the schema, or the first
// valid one of some usual values. n is the index in a list. findExample ignores rules in CEL and in the code
// of a kind: a field with such rules needs an example in its schema.
func findExample(schema apiextensionsv1.JSONSchemaProps, n int) any {
	valid := slices.DeleteFunc(candidates(schema, n), func(value any) bool { return !isValid(schema, value) })
	if len(valid) == 0 {
		return nil
	}
	return valid[0]
}

// isValid reports whether the API server accepts a value.
func isValid(schema apiextensionsv1.JSONSchemaProps, value any) bool {
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&schema, &internal, nil); err != nil || value == nil {
		return false
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	return err == nil && len(validation.ValidateCustomResource(nil, value, validator)) == 0
}

// candidates returns values to try for a schema, best first.
func candidates(schema apiextensionsv1.JSONSchemaProps, n int) (values []any) {
	if n == 0 {
		values = append(values, decode(schema.Example), decode(schema.Default))
	}
	switch {
	case len(schema.Enum) > 0:
		return append(values, decode(&schema.Enum[n%len(schema.Enum)]))
	case schema.XEmbeddedResource:
		return append(values, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "sample"}})
	case schema.XIntOrString || schema.Type == "integer" || schema.Type == "number":
		return append(values, numbers(schema, n)...)
	case schema.Type == "string":
		return append(values, texts(schema, n)...)
	case schema.Type == "boolean":
		return append(values, n%2 == 0)
	case schema.Type == "array":
		items := []any{}
		for i := range max(1, ptr.Deref(schema.MinItems, 1)) {
			items = append(items, findExample(*schema.Items.Schema, n+int(i)))
		}
		return append(values, items, []any{})
	}
	return append(values, exampleObject(schema, n))
}

// numbers returns 1, and numbers at the bounds of a schema.
func numbers(schema apiextensionsv1.JSONSchemaProps, n int) (values []any) {
	step := ptr.Deref(schema.MultipleOf, 1)
	least, most := ptr.Deref(schema.Minimum, 1), ptr.Deref(schema.Maximum, 1)
	more := float64(n) * step
	for _, number := range []float64{1, step, least, math.Ceil(least/step) * step, least + step, math.Floor(most/step)*step - 2*more, most - step - 2*more, (least + most) / 2, most / 2} {
		if number += more; number == math.Trunc(number) {
			values = append(values, int64(number)) // like Parse
		} else {
			values = append(values, number)
		}
	}
	return values
}

// texts returns a text of the length that a schema requires, and the usual texts.
func texts(schema apiextensionsv1.JSONSchemaProps, n int) (values []any) {
	least, most := min(ptr.Deref(schema.MinLength, 0), 1<<10), ptr.Deref(schema.MaxLength, 1<<10)
	for _, text := range usualTexts[:2] {
		if n == 0 {
			values = append(values, strings.Repeat(text, int(least)/len(text)+1)[:max(least, min(most, int64(len(text))))])
		}
	}
	for _, text := range usualTexts {
		if n == 0 {
			values = append(values, text)
		} else {
			values = append(values, fmt.Sprint(text, n+1), text+string(rune('a'+n%26)))
		}
	}
	return values
}

// exampleObject returns an object with the required fields of a schema, or a mapping.
func exampleObject(schema apiextensionsv1.JSONSchemaProps, n int) any {
	object := map[string]any{}
	for _, name := range schema.Required {
		object[name] = findExample(schema.Properties[name], n)
	}
	if schema.AdditionalProperties == nil || schema.AdditionalProperties.Schema == nil {
		return object
	}
	for i := range max(1, ptr.Deref(schema.MinProperties, 1)) {
		object[fmt.Sprint("key", i+1)] = findExample(*schema.AdditionalProperties.Schema, n+int(i))
	}
	return object
}
