package setup

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/test/testkind"
)

// outlineOf returns a kind Thing whose spec has a schema, and its outline.
func outlineOf(t *testing.T, spec, columns string) (*kind.Kind, *Outline) {
	t.Helper()
	d := testkind.Definition()
	d.GVK = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Thing"}
	d.CRD = []byte(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec: {versions: [{name: v1, additionalPrinterColumns: [` + columns + `],
  schema: {openAPIV3Schema: {description: A Thing., properties: {spec: ` + spec + `}}}}]}`)
	k := kind.Define(d)
	return &k, NewOutline(&k)
}

// Fields with the name of a common flag have no flag.
func TestScalarAndRequiredFieldsHaveFlags(t *testing.T) {
	_, outline := outlineOf(t, `{required: [items, count], properties: {
    maxConnections: {type: integer}, podCIDR: {type: string}, URLPath: {type: string}, http2Port: {type: integer}, snake_case: {type: string},
    env: {type: string}, namespace: {type: string}, help: {type: boolean}, fooBar: {type: string},
    items: {type: array}, others: {type: array}, limits: {type: object}, size: {x-kubernetes-int-or-string: true}, count: {type: integer, default: 1}}}`,
		`{jsonPath: .spec.size}, {jsonPath: .spec.fooBar, priority: 1}, {jsonPath: .status.size}`)
	var flags, required []string
	for _, f := range outline.Fields {
		if f.Flag != "" {
			flags = append(flags, f.Flag)
		}
		if f.Required {
			required = append(required, f.Name)
		}
	}
	want := "size items url-path count foo-bar http2-port max-connections pod-cidr snake_case"
	if got := strings.Join(flags, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !reflect.DeepEqual(required, []string{"items"}) {
		t.Errorf("required: %v", required)
	}
}

func TestParseKeepsTypes(t *testing.T) {
	const number, quantity, text, boolean = `{type: number}`, `{x-kubernetes-int-or-string: true}`, `{type: string}`, `{type: boolean}`
	const integer, list = `{type: integer}`, `{type: array}`
	for _, test := range []struct {
		schema, text string
		want         any
	}{
		{integer, "2", int64(2)}, {integer, "-2", int64(-2)}, {integer, "many", "must be a whole number"}, {integer, "2.0", int64(2)}, {integer, "2.5", "must be a whole number"}, {integer, "", "must be a whole number"},
		{integer, "99999999999999999999", "must be a whole number"},
		{number, "2", int64(2)}, {number, "0.5", 0.5}, {number, "1e3", int64(1000)}, {number, ".nan", "must be YAML, like '[a, b]' or '{a: b}'"}, {number, ".inf", "must be YAML, like '[a, b]' or '{a: b}'"},
		{quantity, "64Mi", "64Mi"}, {quantity, "80%", "80%"}, {quantity, "3", int64(3)}, {quantity, "03", "03"}, {quantity, "0.5", "0.5"}, {quantity, "99999999999999999999", "99999999999999999999"},
		{text, "2", "2"}, {text, "true", "true"}, {text, "", ""}, {text, "a\xff", "must be UTF-8"},
		{boolean, "true", true}, {boolean, "false", false},
		{list, "[a, 1]", []any{"a", int64(1)}}, {list, "{a: {b: c}}", map[string]any{"a": map[string]any{"b": "c"}}},
		{list, "[a", "must be YAML, like '[a, b]' or '{a: b}'"}, {list, "", "must be YAML, like '[a, b]' or '{a: b}'"}, {list, "{a: b, a: c}", "must be YAML, like '[a, b]' or '{a: b}'"},
	} {
		k, outline := outlineOf(t, `{required: [field], properties: {field: `+test.schema+`}}`, "")
		got, err := outline.Fields[0].Parse(test.text)
		if err != nil {
			got = err.Error()
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s %q: %#v, want %#v", test.schema, test.text, got, test.want)
		}
		if err != nil {
			continue
		}
		content := newSample(k, outline, "", "a", map[string]any{"field": got})
		var read struct{ Spec map[string]any }
		if err := yaml.Unmarshal(content, &read); err != nil || fmt.Sprintf("%T", read.Spec["field"]) == "string" != (fmt.Sprintf("%T", got) == "string") || fmt.Sprint(read.Spec["field"]) != fmt.Sprint(got) {
			t.Errorf("%s %q: %v, reads as %#v:\n%s", test.schema, test.text, err, read.Spec["field"], content)
		}
	}
}

// Columns of kubectl get have their default. Other fields are comments if there is
// a value to show.
func TestSampleWithoutValues(t *testing.T) {
	const plain = "# A Thing.\napiVersion: example.org/v1\nkind: Thing\nmetadata:\n  name: a\n"
	for name, test := range map[string]struct{ spec, columns, want string }{
		"a column":   {`{properties: {a: {type: integer, default: 1000000}, b: {type: integer, default: 2}}}`, `{jsonPath: .spec.b}`, plain + "spec:\n  # .\n  b: 2\n  # .\n  #a: 1000000\n"},
		"a wide one": {`{properties: {a: {type: integer, default: 1}, b: {type: integer, default: 2}}}`, `{jsonPath: .spec.b, priority: 1}`, plain + "spec: {}\n  # .\n  #a: 1\n  # .\n  #b: 2\n"},
		"examples":   {`{properties: {a: {type: object, example: {b: [c]}}, d: {type: string}}}`, "", plain + "spec: {}\n  # .\n  #a:\n  #  b:\n  #  - c\n"},
		"no fields":  {`{type: object}`, "", plain + "spec: {}\n"},
	} {
		k, outline := outlineOf(t, test.spec, test.columns)
		if got := strings.ReplaceAll(string(newSample(k, outline, "", "a", nil)), "  # .\n", ""); got != strings.ReplaceAll(test.want, "  # .\n", "") {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, test.want)
		}
	}
}

func TestSampleIsFromTheSchema(t *testing.T) {
	for schema, want := range map[string]string{
		`{type: string, default: a, example: b, enum: [c]}`:  "b",
		`{type: string, default: a, enum: [c]}`:              "a",
		`{type: string, enum: [Always, Never]}`:              "Always",
		`{type: integer, example: 0}`:                        "0",
		`{type: object, example: {a: [1]}}`:                  `{"a":[1]}`,
		`{type: boolean}`:                                    "true",
		`{type: string, pattern: '^v[0-9]+$', minLength: 3}`: "MY-FIELD",
	} {
		_, outline := outlineOf(t, `{required: [myField], properties: {myField: `+schema+`}}`, "")
		if got := outline.Fields[0].Sample(); got != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
}
