package verdict_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict"
)

// changedDefinitions are schemas of spec before and after, and an object, with the field that a client changes.
var changedDefinitions = map[string]struct {
	before, after, spec, change string
	conversion                  bool // v1 of the schema before is written, v2 of the schema after is stored
}{
	"maximum":         {before: "{i: {type: integer}}", after: "{i: {type: integer, maximum: 5}}", spec: "{i: 7}", change: "{i: 8}"},
	"enum":            {before: "{m: {type: string}}", after: "{m: {type: string, enum: [a, b]}}", spec: "{m: c}", change: "{m: a}"},
	"pattern":         {before: "{m: {type: string}}", after: "{m: {type: string, pattern: '^a'}}", spec: "{m: c}", change: "{m: a}"},
	"required":        {before: "{m: {type: string}, x: {type: string}}", after: "{m: {type: string}, x: {type: string}}, required: [x]", spec: "{m: c}", change: "{m: d}"},
	"type":            {before: "{m: {type: string}}", after: "{m: {type: object, properties: {name: {type: string}}}}", spec: "{m: c}", change: "{m: {name: c}}"},
	"integer to text": {before: "{m: {type: integer}}", after: "{m: {type: string}}", spec: "{m: 1}", change: "{m: '1'}"},
	"rule":            {before: "{i: {type: integer}}", after: "{i: {type: integer, x-kubernetes-validations: [{rule: self < 5, message: small}]}}", spec: "{i: 7}", change: "{i: 8}"},
	"transition rule": {before: "{i: {type: integer}}", after: "{i: {type: integer, x-kubernetes-validations: [{rule: self == oldSelf}]}}", spec: "{i: 7}", change: "{i: 8}"},
	"rule above":      {before: "{i: {type: integer}, m: {type: string}}", after: "{i: {type: integer}, m: {type: string}}, x-kubernetes-validations: [{rule: self.i < 5}]", spec: "{i: 7, m: a}", change: "{i: 7, m: b}"},
	"items":           {before: "{l: {type: array, items: {type: string}}}", after: "{l: {type: array, maxItems: 1, items: {type: string}}}", spec: "{l: [a, b]}", change: "{l: [a]}"},
	"list of a set":   {before: "{l: {type: array, items: {type: string}}}", after: "{l: {type: array, x-kubernetes-list-type: set, items: {type: string}}}", spec: "{l: [a, a]}", change: "{l: [a]}"},
	"removed":         {before: "{i: {type: integer}, x: {type: string}}", after: "{i: {type: integer}}", spec: "{i: 7, x: a}", change: "{i: 8}"},
	"removed below":   {before: "{o: {type: object, x-kubernetes-preserve-unknown-fields: true}}", after: "{o: {type: object, properties: {a: {type: string}}}}", spec: "{o: {a: b, c: {d: 1}}}", change: "{o: {a: c}}"},
	"new default":     {before: "{i: {type: integer}, m: {type: string}}", after: "{i: {type: integer}, m: {type: string, default: fast}}", spec: "{i: 7}", change: "{i: 8}"},
	"other default":   {before: "{i: {type: integer}, m: {type: string, default: slow}}", after: "{i: {type: integer}, m: {type: string, default: fast}}", spec: "{i: 7}", change: "{i: 8}"},
	"no default":      {before: "{i: {type: integer}, m: {type: string, default: slow}}", after: "{i: {type: integer}, m: {type: string}}", spec: "{i: 7}", change: "{i: 8}"},
	"stored lacks":    {before: "{i: {type: integer}, x: {type: string}}", after: "{i: {type: integer}}", spec: "{i: 7, x: a}", change: "{i: 8, x: b}", conversion: true},
	"stored default":  {before: "{i: {type: integer}, x: {type: string}}", after: "{i: {type: integer}, x: {type: string, default: b}}", spec: "{i: 7}", change: "{i: 8}", conversion: true},
	"other type":      {before: "{k: {type: array, items: {type: object, properties: {keyRef: {type: string}}}}}", after: "{k: {type: array, items: {type: object, properties: {keyRef: {type: object, properties: {name: {type: string}}}}}}}", spec: "{k: [{keyRef: a}]}", change: "{k: [{keyRef: b}]}", conversion: true},
}

// A changed definition refuses, keeps and drops in render as in the API server.
func TestChangedDefinitionsHaveTheSameVerdict(t *testing.T) {
	number := 0
	for name, test := range changedDefinitions {
		number++
		plural := fmt.Sprintf("turns%d", number)
		t.Run(name, func(t *testing.T) {
			schemaOf := func(properties string) string {
				return "{openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: " + properties + "}}}}"
			}
			definition := func(versions ...string) manifest.Object {
				return object(t, fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %s.turn.example.com}, spec: {group: turn.example.com, scope: Namespaced, names: {kind: %s, plural: %[1]s}, versions: [%[3]s]}}`,
					plural, strings.ToUpper(plural[:1])+plural[1:], strings.Join(versions, ", ")))
			}
			before := definition("{name: v1, served: true, storage: true, schema: " + schemaOf(test.before) + "}")
			after := definition("{name: v1, served: true, storage: true, schema: " + schemaOf(test.after) + "}")
			if test.conversion {
				after = definition("{name: v1, served: true, storage: false, schema: "+schemaOf(test.before)+"}", "{name: v2, served: true, storage: true, schema: "+schemaOf(test.after)+"}")
			}
			o := func(name, spec, version string) manifest.Object {
				return object(t, fmt.Sprintf("{apiVersion: turn.example.com/%s, kind: %s, metadata: {name: %s, namespace: default}, spec: %s}", version, strings.ToUpper(plural[:1])+plural[1:], name, spec))
			}
			store(t, before.Unstructured)
			existing := store(t, o("a", test.spec, "v1").Unstructured)
			stored, err := existing.Get(t.Context(), "a", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			redefine(t, after.Unstructured, existing)
			checker, problems := verdict.New(nil, gatehouse.All(), kubernetes(t), []manifest.Object{after})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			old, _ := verdict.New(nil, gatehouse.All(), kubernetes(t), []manifest.Object{before})

			// A new object, and the existing one with a new label.
			_, refused := checker.Objects([]manifest.Object{o("b", test.spec, "v1")})
			if err := apply(t.Context(), existing, o("b", test.spec, "v1").Unstructured); (err != nil) != manifest.HasErrors(refused) {
				t.Errorf("a new object: the server says %v, render %v", err, refused)
			}
			labelled := o("a", test.spec, "v1")
			labelled.SetLabels(map[string]string{"a": "b"})
			mayStay := !slices.ContainsFunc(refused, func(p manifest.Problem) bool { return !checker.MayStay(p) })
			if err := apply(t.Context(), existing, labelled.Unstructured); (err == nil) != mayStay {
				t.Errorf("the existing object: the server says %v, render that it may stay: %t", err, mayStay)
			}
			if test.conversion { // the API server converts what it writes
				store(t, labelled.Unstructured)
			}
			read, err := existing.Get(t.Context(), "a", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			was := old.Stored([]manifest.Object{o("a", test.spec, "v1")})
			if got := checker.Read(was)[0]; fmt.Sprint(was[0].Object["spec"]) != fmt.Sprint(stored.Object["spec"]) || fmt.Sprint(got.Object["spec"]) != fmt.Sprint(read.Object["spec"]) {
				t.Errorf("the server stores %v and then %v, render %v and %v", stored.Object["spec"], read.Object["spec"], was[0].Object["spec"], got.Object["spec"])
			}

			changed := o("a", test.change, "v1")
			_, invalid := checker.Objects([]manifest.Object{changed})
			errs := checker.Update(o("a", test.spec, "v1"), changed)
			if err := apply(t.Context(), existing, changed.Unstructured); (err != nil) != (manifest.HasErrors(invalid) || len(errs) > 0) {
				t.Errorf("the changed object: the server says %v, render %v %v", err, invalid, errs)
			}
			if !test.conversion {
				return
			}
			other := store(t, o("c", "{}", "v2").Unstructured)
			read, err = other.Get(t.Context(), "a", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			_, unfit := checker.Objects([]manifest.Object{{Unstructured: clean(read)}})
			if misfits := checker.Misfits(o("a", test.spec, "v1")); manifest.HasErrors(unfit) != (len(misfits) > 0) {
				t.Errorf("the server has %v in v2, which is invalid for %v, render says %v", read.Object["spec"], unfit, misfits)
			}
		})
	}
}

func clean(o *unstructured.Unstructured) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "metadata": map[string]any{"name": o.GetName(), "namespace": o.GetNamespace()}, "spec": o.Object["spec"]}}
}

func object(t *testing.T, text string) manifest.Object {
	t.Helper()
	u := &unstructured.Unstructured{}
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = u.UnmarshalJSON(encoded)
	}
	if err != nil {
		t.Fatal(text, err)
	}
	return manifest.Object{Unstructured: u, Written: u}
}

// redefine changes a definition and waits until the API server uses it: each version gets a field.
func redefine(t *testing.T, definition *unstructured.Unstructured, objects dynamic.ResourceInterface) {
	t.Helper()
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		_ = unstructured.SetNestedField(v.(map[string]any), "boolean", "schema", "openAPIV3Schema", "properties", "isChanged", "type")
	}
	_ = unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions")
	store(t, definition)
	existing, err := objects.Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	probe := clean(existing)
	probe.SetName("probe")
	probe.Object["spec"], probe.Object["isChanged"] = map[string]any{}, true
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := objects.Create(ctx, probe, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict, DryRun: []string{metav1.DryRunAll}})
		return err == nil || !strings.Contains(err.Error(), "unknown field"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
