// Package kindtest helps to test a kind. It renders objects as render does, and decides their status as
// the controller does, without files and without a cluster.
//
// In all functions, others are further kinds of the program that the test needs. For an older version,
// they must include the rendered version.
package kindtest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict"
)

// pointer is a pointer to the Go type of an object.
type pointer[T any] interface {
	*T
	kind.Object
}

// Object returns an object of a kind from YAML, with its defaults. It fails the test if the API server
// refuses the object, or a field does not fit the Go type T.
func Object[T any, P pointer[T]](t testing.TB, k kind.Kind, text string, others ...kind.Kind) P {
	t.Helper()
	o, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	checker, problems := verdict.New(nil, newKinds(t, k, others), 0, nil)
	stored, refused := checker.Objects([]manifest.Object{o})
	failOnErrors(t, append(problems, refused...))
	for _, misfit := range decoding.Find(stored[0].Object, reflect.TypeFor[T](), decoding.Options{}) {
		t.Errorf("%s: fits the CustomResourceDefinition, but not the Go type: run controller-gen",
			strings.Join(misfit.Path, "."))
	}
	object := P(new(T))
	convert(t, stored[0].Object, object)
	return object
}

// Refusal renders an object of a kind from YAML and returns the errors: from the API server's code for the
// object and its children, and from Expand and Convert. It returns nil for a valid object.
func Refusal(t testing.TB, k kind.Kind, text string, others ...kind.Kind) []string {
	t.Helper()
	kinds := newKinds(t, k, others)
	o, err := parse(text)
	if err != nil {
		return []string{err.Error()}
	}
	_, problems := render.OneObject(kinds, o)
	return errorMessages(problems)
}

// Expand returns the children of an object of a kind, with defaults and final names, in the order of
// Definition.Expand. It renders the object twice, and fails the test if render refuses the object or
// the results differ.
func Expand(t testing.TB, k kind.Kind, object kind.Object, others ...kind.Kind) []*unstructured.Unstructured {
	t.Helper()
	_, objects := expand(t, newKinds(t, k, others), toUnstructured(t, k.GVK(), object))
	return objects
}

// expand renders a source object twice. It returns the object with its defaults, and its children.
func expand(t testing.TB, kinds *registry.Kinds, source *unstructured.Unstructured) (stored *unstructured.Unstructured,
	objects []*unstructured.Unstructured) {
	t.Helper()
	var texts [2]string
	for i := range texts {
		u := source.DeepCopy()
		single, problems := render.OneObject(kinds, manifest.Object{Unstructured: u, Written: u})
		failOnErrors(t, problems)
		stored = single.Stored.Unstructured
		objects = nil
		if rendering := registry.RenderingOf(single.Source.Unstructured).String(); rendering != "" {
			_ = unstructured.SetNestedField(stored.Object, rendering, "metadata", "annotations",
				registry.RenderingAnnotation)
		}
		for _, o := range single.Objects {
			objects = append(objects, o.Unstructured)
		}
		texts[i] = yamlOf(t, append([]*unstructured.Unstructured{stored}, objects...))
	}
	if texts[0] != texts[1] {
		t.Fatalf("the second rendering differs:\n%s", udiff.Unified("first", "second", texts[0], texts[1]))
	}
	return stored, objects
}

func newKinds(t testing.TB, k kind.Kind, others []kind.Kind) *registry.Kinds {
	t.Helper()
	kinds, err := registry.New(slices.Concat([]kind.Kind{k}, others)...)
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

func failOnErrors(t testing.TB, problems []manifest.Problem) {
	t.Helper()
	if errs := errorMessages(problems); len(errs) > 0 {
		t.Fatal(strings.Join(errs, "\n"))
	}
}

func errorMessages(problems []manifest.Problem) (all []string) {
	failures, _ := manifest.SplitProblems(problems)
	for _, p := range failures {
		all = append(all, p.Message)
	}
	return all
}

func parse(text string) (manifest.Object, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return manifest.Object{}, err
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return manifest.Object{}, errors.New("not an object")
	}
	return manifest.FromYAML(document.Content[0])
}

// toUnstructured returns an object as plain data, without the fields that only a Cluster sets.
func toUnstructured(t testing.TB, gvk schema.GroupVersionKind, object kind.Object) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	convert(t, object, &u.Object)
	for _, field := range []string{"uid", "generation", "creationTimestamp"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	if status, _ := u.Object["status"].(map[string]any); len(status) == 0 {
		delete(u.Object, "status")
	}
	u.SetGroupVersionKind(gvk)
	return u
}

// convert copies an object into another by JSON.
func convert(t testing.TB, from, to any) {
	t.Helper()
	text, err := json.Marshal(from)
	if err == nil {
		err = utiljson.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The prefix leaves the usual name, update, to the test that imports this package.
var update = flag.Bool("kindtest.update", false, "write the files that kindtest.Golden compares with")

// Golden fails the test unless a file has the content: a text, or objects in YAML. With the flag
// -kindtest.update it writes the file.
func Golden[C []byte | string | []*unstructured.Unstructured](t testing.TB, path string, content C) {
	t.Helper()
	text := fmt.Sprintf("%s", any(content))
	if objects, ok := any(content).([]*unstructured.Unstructured); ok {
		text = yamlOf(t, objects)
	}
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { // #nosec G306 -- not secret
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path) // #nosec G304 -- the test names it
	if err != nil {
		t.Fatalf("%v: run the test with -kindtest.update", err)
	}
	if string(want) != text {
		t.Errorf("%srun the test with -kindtest.update to accept the change",
			udiff.Unified(path, "test", string(want), text))
	}
}

func yamlOf(t testing.TB, objects []*unstructured.Unstructured) string {
	t.Helper()
	texts := make([]string, len(objects))
	for i, u := range objects {
		text, err := (manifest.Object{Unstructured: u}).YAML()
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	return strings.Join(texts, "---\n")
}
