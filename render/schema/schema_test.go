package schema

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

// fields has a field for each difference between schemas of Kubernetes and JSON Schema.
const fields = `
type: object
properties:
  apiVersion: {type: string}
  kind: {type: string}
  metadata: {type: object}
  status: {type: object, properties: {a: {type: integer}}}
  spec:
    type: object
    required: [text]
    properties:
      text: {type: string, pattern: "^[a-z]+$", maxLength: 3}
      nullable: {type: string, nullable: true, enum: [a, b]}
      nullableAny: {type: string, nullable: true, maxLength: 1}
      over: {type: integer, minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false}
      either: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], pattern: "^[0-9]+%?$"}
      open: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: integer}}}
      any: {x-kubernetes-preserve-unknown-fields: true}
      object: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object, properties: {a: {type: integer}}}}}
      map: {type: object, additionalProperties: {type: object, properties: {a: {type: integer}}}}
      list: {type: array, maxItems: 2, items: {type: object, properties: {a: {type: integer, example: 1}}}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a]}
      one: {type: object, properties: {a: {type: integer}, b: {type: integer}}, oneOf: [{required: [a]}, {required: [b]}], not: {properties: {a: {maximum: 1, exclusiveMaximum: true}}, required: [a]}}
`

func TestEditorsSeeWhatTheAPIServerRefuses(t *testing.T) {
	var schema apiextensionsv1.JSONSchemaProps
	if err := yaml.UnmarshalStrict([]byte(fields), &schema); err != nil {
		t.Fatal(err)
	}
	isAllowed := apiServer(t, schema)
	editor := compile(t, gatehouse.All(), `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: memcacheds.cache.example.com}, spec: {group: cache.example.com, names: {kind: Memcached}, versions: [{name: v1, schema: {openAPIV3Schema: `+
		asFlow(t, fields)+`}}]}}`)
	verdicts := map[bool]int{}
	for _, written := range []string{
		"spec: {text: a}", "spec: {text: A}", "spec: {text: abcd}", "spec: {}", "{}", "spec: {text: a, other: 1}", "other: 1", "metadata: {name: a, labels: {a: b}}",
		"spec: {text: a, nullable: a}", "spec: {text: a, nullable: null}", "spec: {text: a, nullable: c}",
		"spec: {text: a, nullableAny: a}", "spec: {text: a, nullableAny: null}", "spec: {text: a, nullableAny: bb}",
		"spec: {text: a, over: 1}", "spec: {text: a, over: 2}", "spec: {text: a, over: 9}", "spec: {text: a, over: 10}", "spec: {text: a, over: a}",
		"spec: {text: a, either: 1}", "spec: {text: a, either: 1%}", "spec: {text: a, either: a}", "spec: {text: a, either: true}",
		"spec: {text: a, open: {unknown: 1}}", "spec: {text: a, open: {known: 1}}", "spec: {text: a, open: {known: a}}", "spec: {text: a, any: [1, a]}", "spec: {text: a, any: a}",
		"spec: {text: a, object: {apiVersion: v1, kind: A, metadata: {name: a}, spec: {a: 1}}}", "spec: {text: a, object: {apiVersion: v1, kind: A, spec: {a: b}}}",
		"spec: {text: a, map: {b: {a: 1}}}", "spec: {text: a, map: {b: {c: 1}}}", "spec: {text: a, map: {b: 1}}",
		"spec: {text: a, list: [{a: 1}]}", "spec: {text: a, list: [{b: 1}]}", "spec: {text: a, list: [{a: 1}, {a: 2}, {a: 3}]}",
		"spec: {text: a, one: {a: 1}}", "spec: {text: a, one: {a: 0}}", "spec: {text: a, one: {a: 1, b: 1}}", "spec: {text: a, one: {c: 1}}",
	} {
		object := map[string]any{}
		if err := yaml.Unmarshal([]byte(written), &object); err != nil {
			t.Fatal(err)
		}
		object["apiVersion"], object["kind"] = "cache.example.com/v1", "Memcached"
		err := editor.Validate(object)
		want := isAllowed(runtime.DeepCopyJSON(numbers(t, object)))
		if (err == nil) != want {
			t.Errorf("%s: the API server accepts it: %t; an editor says: %v", written, want, err)
		}
		verdicts[want]++
	}
	if verdicts[true] < 10 || verdicts[false] < 10 {
		t.Errorf("numbers of accepted objects: %v", verdicts)
	}
	if err := editor.Validate(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": 1}); err != nil {
		t.Errorf("another kind: %v", err)
	}
}

// numbers returns an object with the number types of the API server.
func numbers(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	content, err := yaml.Marshal(object)
	u := &unstructured.Unstructured{}
	if err == nil {
		content, err = yaml.YAMLToJSON(content)
	}
	if err == nil {
		err = u.UnmarshalJSON(content)
	}
	if err != nil {
		t.Fatal(err)
	}
	return u.Object
}

// asFlow returns YAML as JSON.
func asFlow(t *testing.T, text string) string {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// apiServer returns a function that reports, by the API server's code, whether the API server accepts
// an object and keeps all of its fields.
func apiServer(t *testing.T, schema apiextensionsv1.JSONSchemaProps) func(map[string]any) bool {
	t.Helper()
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&schema, &internal, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		t.Fatal(err)
	}
	return func(object map[string]any) bool {
		unknown := pruning.PruneWithOptions(object, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
		return len(unknown) == 0 && len(validation.ValidateCustomResource(nil, object, validator)) == 0
	}
}

// schemaFor returns the schema of an environment with one object.
func schemaFor(t *testing.T, kinds *registry.Kinds, text string) []byte {
	t.Helper()
	o := manifest.Object{Unstructured: &unstructured.Unstructured{}}
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = o.UnmarshalJSON(asJSON)
	}
	if err != nil {
		t.Fatal(err)
	}
	file, err := File(kinds, []manifest.Object{o})
	if err != nil {
		t.Fatal(err)
	}
	return file.Content
}

// compile returns the schema of an environment with a CustomResourceDefinition.
func compile(t *testing.T, kinds *registry.Kinds, definition string) *jsonschema.Schema {
	t.Helper()
	content := schemaFor(t, kinds, definition)
	if !bytes.HasPrefix(content, []byte(tree.SchemaHeader)) {
		t.Errorf("it starts with %.80s", content)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestOnlyKindsOfTheEnvironmentHaveASchema(t *testing.T) {
	const memcached = "{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: a, namespace: shop}, spec: {size: 2}}"
	if content := string(schemaFor(t, gatehouse.All(), memcached)); strings.Count(content, `"if"`) != 1 || !strings.Contains(content, `"const": "Memcached"`) {
		t.Errorf("a Memcached alone:\n%s", content)
	}
	if content := schemaFor(t, gatehouse.All(), "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}"); content != nil {
		t.Errorf("no kind:\n%s", content)
	}
}
