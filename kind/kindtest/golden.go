package kindtest

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/manifest"
)

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
