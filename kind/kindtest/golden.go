package kindtest

import (
	"bytes"
	"flag"
	"os"
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
	var text []byte
	switch content := any(content).(type) {
	case []byte:
		text = content
	case string:
		text = []byte(content)
	case []*unstructured.Unstructured:
		text = textOf(t, content)
	}
	if *update {
		if err := os.WriteFile(path, text, 0o644); err != nil { // #nosec G306 -- people read it
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path) // #nosec G304 -- the test names it
	if err != nil {
		t.Fatalf("%v: run the test with -kindtest.update", err)
	}
	if !bytes.Equal(want, text) {
		t.Errorf("%srun the test with -kindtest.update, and look at what changes", udiff.Unified(path, "test", string(want), string(text)))
	}
}

// textOf returns objects in YAML.
func textOf(t testing.TB, objects []*unstructured.Unstructured) (text []byte) {
	t.Helper()
	for i, u := range objects {
		one, err := manifest.Object{Unstructured: u}.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			text = append(text, "---\n"...)
		}
		text = append(text, one...)
	}
	return text
}
