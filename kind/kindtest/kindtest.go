// Package kindtest is for the tests of a kind: it renders objects as render does, and decides their
// status as the controller does, without files and without a cluster.
//
// Others are, in every function, the other kinds of the program that matter to the kind: the version
// that an older one is converted to.
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

// Object returns an object of a kind, which is written in YAML, as the API server stores it: with its
// defaults. It fails the test where the API server refuses the object, and where a field of it does not
// fit the Go type.
func Object[T any, P pointer[T]](t testing.TB, k kind.Kind, text string, others ...kind.Kind) P {
	t.Helper()
	o, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	checker, problems := verdict.New(nil, newKinds(t, k, others), 0, nil)
	stored, refused := checker.Objects([]manifest.Object{o})
	refuse(t, append(problems, refused...))
	for _, misfit := range decoding.Find(stored[0].Object, reflect.TypeFor[T](), decoding.Options{}) {
		t.Errorf("%s: the CustomResourceDefinition takes it, and it does not fit the Go type: run controller-gen", strings.Join(misfit.Path, "."))
	}
	object := P(new(T))
	convert(t, stored[0].Object, object)
	return object
}

// Refusal returns why render refuses an object of a kind that is written in YAML: what the API
// server says of the object and of what it is rendered to, and the errors of Expand and Convert. It
// returns nothing where render takes the object.
func Refusal(t testing.TB, k kind.Kind, text string, others ...kind.Kind) []string {
	t.Helper()
	kinds := newKinds(t, k, others)
	o, err := parse(text)
	if err != nil {
		return []string{err.Error()}
	}
	_, problems := render.RenderObject(kinds, o)
	return messages(problems)
}

// Expand returns what an object of a kind is rendered to, with defaults and final names, in the order
// of Expand. It fails the test where render refuses that, and where it is something else the second
// time.
func Expand(t testing.TB, k kind.Kind, object kind.Object, others ...kind.Kind) []*unstructured.Unstructured {
	t.Helper()
	_, objects := expand(t, newKinds(t, k, others), write(t, k.GVK(), object))
	return objects
}

// expand renders an object twice, and returns it as it is in a cluster and what it is rendered to.
func expand(t testing.TB, kinds *registry.Kinds, written *unstructured.Unstructured) (stored *unstructured.Unstructured, objects []*unstructured.Unstructured) {
	t.Helper()
	var texts [2]string
	for i := range texts {
		u := written.DeepCopy()
		single, problems := render.RenderObject(kinds, manifest.Object{Unstructured: u, Written: u})
		refuse(t, problems)
		stored, objects = single.Stored.Unstructured, nil
		if rendering := registry.RenderingOf(single.Source.Unstructured).String(); rendering != "" {
			_ = unstructured.SetNestedField(stored.Object, rendering, "metadata", "annotations", registry.RenderingAnnotation)
		}
		for _, o := range single.Objects {
			objects = append(objects, o.Unstructured)
		}
		texts[i] = textOf(t, append([]*unstructured.Unstructured{stored}, objects...))
	}
	if texts[0] != texts[1] {
		t.Fatalf("rendered again, it is something else:\n%s", udiff.Unified("first", "second", texts[0], texts[1]))
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

// refuse fails the test where any of the problems is an error.
func refuse(t testing.TB, problems []manifest.Problem) {
	t.Helper()
	if refused := messages(problems); len(refused) > 0 {
		t.Fatal(strings.Join(refused, "\n"))
	}
}

// messages returns the messages of the problems that are errors.
func messages(problems []manifest.Problem) (all []string) {
	failures, _ := manifest.SplitProblems(problems)
	for _, p := range failures {
		all = append(all, p.Message)
	}
	return all
}

// parse parses an object as render does.
func parse(text string) (manifest.Object, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return manifest.Object{}, err
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return manifest.Object{}, errors.New("the text is no object")
	}
	return manifest.FromYAML(document.Content[0])
}

// write returns an object as plain data, without what a client does not set.
func write(t testing.TB, gvk schema.GroupVersionKind, object kind.Object) *unstructured.Unstructured {
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

// convert reads into an object what another is in JSON.
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

// A test of somebody may have a flag of its own that is called update.
var update = flag.Bool("kindtest.update", false, "write the files that kindtest.Golden compares with")

// Golden fails the test unless a file has a text, or objects in YAML. With the flag -kindtest.update it
// writes the file.
func Golden[C []byte | string | []*unstructured.Unstructured](t testing.TB, path string, content C) {
	t.Helper()
	text := fmt.Sprintf("%s", any(content))
	if objects, ok := any(content).([]*unstructured.Unstructured); ok {
		text = textOf(t, objects)
	}
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { // #nosec G306 -- people read it
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path) // #nosec G304 -- the test names it
	if err != nil {
		t.Fatalf("%v: run the test with -kindtest.update", err)
	}
	if string(want) != text {
		t.Errorf("%srun the test with -kindtest.update, and look at what changes", udiff.Unified(path, "test", string(want), text))
	}
}

// textOf returns objects in YAML.
func textOf(t testing.TB, objects []*unstructured.Unstructured) string {
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
