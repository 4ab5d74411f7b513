package setup

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestSampleIsValid(t *testing.T) {
	const unknown = "?" // help has a note on the value
	for _, test := range []struct{ schema, want string }{
		{`{type: string}`, "STRING"},
		{`{type: string, default: a, example: b}`, "b"},
		{`{type: string, enum: [Always, Never]}`, "Always"},
		{`{type: string, maxLength: 3}`, "STR"},
		{`{type: string, minLength: 8}`, "STRINGST"},
		{`{type: string, minLength: 7, maxLength: 7}`, "STRINGS"},
		{`{type: string, pattern: '^[a-z]+$'}`, "string"},
		{`{type: string, pattern: '^v[0-9]+\.[0-9]+$'}`, unknown},
		{`{type: string, pattern: '^(\d{3}-)?[^a-zA-Z0-9]{2,4}$'}`, unknown},
		{`{type: string, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', minLength: 9, maxLength: 63}`, ""},
		{`{type: string, pattern: '^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$'}`, "1h"},
		{`{type: string, pattern: '^a{2,}$', minLength: 5}`, unknown},
		{`{type: string, format: date-time}`, "2030-01-31T10:00:00Z"},
		{`{type: string, format: ipv4}`, ""}, {`{type: string, format: ipv6}`, ""}, {`{type: string, format: cidr}`, ""},
		{`{type: string, format: uuid}`, ""}, {`{type: string, format: uri}`, ""}, {`{type: string, format: email}`, ""},
		{`{type: string, format: byte}`, ""}, {`{type: string, format: duration}`, ""}, {`{type: string, format: date}`, ""},
		{`{type: string, format: hostname}`, ""}, {`{type: string, format: mac}`, ""}, {`{type: string, format: unknown}`, "STRING"},

		{`{type: integer}`, "1"}, {`{type: integer, minimum: 3}`, "3"}, {`{type: integer, minimum: 3, exclusiveMinimum: true}`, "4"},
		{`{type: integer, maximum: -5}`, "-5"}, {`{type: integer, maximum: 1, exclusiveMaximum: true}`, "0"}, {`{type: integer, minimum: 10, multipleOf: 4}`, "12"},
		{`{type: integer, maximum: 0, exclusiveMaximum: true}`, "-1"}, {`{type: integer, enum: [4, 5]}`, "4"},
		{`{type: number}`, "1"}, {`{type: number, minimum: 0.5, maximum: 0.75}`, "0.5"}, {`{type: number, minimum: 0, maximum: 0.5, exclusiveMaximum: true}`, "0.25"},
		{`{type: boolean}`, "true"}, {`{type: boolean, enum: [false]}`, "false"},
		{`{x-kubernetes-int-or-string: true}`, "1"},
		{`{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], pattern: '^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE])?$'}`, "1"},

		{`{type: array, items: {type: string}}`, `["STRING"]`},
		{`{type: array, minItems: 2, items: {type: string}}`, `["STRING","STRING2"]`},
		{`{type: array, minItems: 2, x-kubernetes-list-type: set, items: {type: string, enum: [a, b, c]}}`, `["a","b"]`},
		{`{type: array, minItems: 3, x-kubernetes-list-type: set, items: {type: string, pattern: '^[a-z]$'}}`, unknown},
		{`{type: array, minItems: 3, x-kubernetes-list-type: set, items: {type: integer, maximum: 2}}`, ""},
		{`{type: array, maxItems: 0, items: {type: string}}`, `[]`},
		{`{type: array, minItems: 2, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name, port], properties: {name: {type: string}, port: {type: integer, minimum: 1}, note: {type: string}}}}`, `[{"name":"STRING","port":1},{"name":"STRING2","port":2}]`},
		{`{type: array, items: {type: array, items: {type: boolean}}}`, `[[true]]`},
		{`{type: object, additionalProperties: {type: string}}`, `{"key1":"STRING"}`},
		{`{type: object, minProperties: 2, additionalProperties: {type: array, items: {type: integer}}}`, `{"key1":[1],"key2":[2]}`},
		{`{type: object, properties: {a: {type: string}}}`, `{}`},
		{`{type: object, minProperties: 1, properties: {b: {type: string}, a: {type: integer}}}`, unknown},
		{`{type: object, required: [inner], properties: {inner: {type: object, required: [mode], properties: {mode: {type: string, enum: [fast]}}}}}`, `{"inner":{"mode":"fast"}}`},
		{`{type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [b]}, {required: [a]}]}`, unknown},
		{`{type: object, x-kubernetes-preserve-unknown-fields: true}`, `{}`},
		{`{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}`, ""},
		{`{x-kubernetes-preserve-unknown-fields: true}`, `{}`},
	} {
		_, outline := outlineOf(t, `{type: object, required: [field], properties: {field: `+test.schema+`}}`, "")
		f := outline.Fields[0]
		sample, note := f.Sample()
		if test.want == unknown {
			if note == "" {
				t.Errorf("%s: %s, want a note", test.schema, sample)
			}
			continue
		}
		if note != "" {
			t.Errorf("%s: %s", test.schema, note)
			continue
		}
		value, err := f.Parse(sample)
		if err != nil || test.want != "" && sample != test.want {
			t.Errorf("%s: %s, error %v, want %s", test.schema, sample, err, test.want)
			continue
		}
		if errs := refused(t, f.schema, value); len(errs) > 0 {
			t.Errorf("%s: %s: %v", test.schema, sample, errs)
		}
	}
}

// refused returns the API server's errors for a value.
func refused(t *testing.T, schema apiextensionsv1.JSONSchemaProps, value any) field.ErrorList {
	t.Helper()
	encoded, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&schema, &internal, nil); err != nil {
		t.Fatal(err, string(encoded))
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		t.Fatal(err)
	}
	errs := validation.ValidateCustomResource(nil, value, validator)
	wrapped := &apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{"field": internal}}
	structural, err := structuralschema.NewStructural(wrapped)
	if err != nil {
		if strings.Contains(err.Error(), "type") {
			return errs
		}
		t.Fatal(err)
	}
	return append(errs, listtype.ValidateListSetsAndMaps(nil, structural, map[string]any{"field": value})...)
}
