package kind

import (
	"reflect"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

func TestSetDefaultsAgreesWithAPIServer(t *testing.T) {
	const schema = `{type: object, properties: {
		number: {type: integer, default: 3}, text: {type: string},
		nullable: {type: string, nullable: true, default: a}, noNull: {type: string, default: a},
		inner: {type: object, default: {a: 1}, properties: {a: {type: integer}, b: {type: integer, default: 2}}},
		absent: {type: object, properties: {b: {type: integer, default: 2}}},
		list: {type: array, items: {type: object, properties: {b: {type: boolean, default: true}}}},
		map: {type: object, additionalProperties: {type: object, properties: {b: {type: number, default: 0.5}}}}}}`
	var s apiextensionsv1.JSONSchemaProps
	var internal apiextensions.JSONSchemaProps
	if err := yaml.Unmarshal([]byte(schema), &s); err != nil {
		t.Fatal(err)
	}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&s, &internal, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"{}", "{number: 4, text: a, nullable: b, noNull: b}", "{nullable: null, noNull: null, number: null}",
		"{inner: {}, absent: {}}", "{inner: {a: 2, b: 3}, absent: {b: 1}}", "{inner: a, list: a, map: a}",
		"{list: [], map: {}}", "{list: [{}, {b: false}, null], map: {a: {}, c: {b: 1}, d: null}}",
	} {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(text), &content); err != nil {
			t.Fatal(err)
		}
		want := runtime.DeepCopyJSON(content)
		defaulting.Default(want, structural)
		if setDefaults(content, &s); !reflect.DeepEqual(content, want) {
			t.Errorf("%s: got %v, want %v", text, content, want)
		}
	}
}
