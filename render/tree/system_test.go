package tree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render/manifest"
)

func TestNamesAreValidAndDistinctOnEverySystem(t *testing.T) {
	for name, want := range map[string]string{
		"shop":            "shop",
		"con":             "%63on",
		"prn":             "%70rn",
		"aux":             "%61ux",
		"nul":             "%6eul",
		"com1":            "%63om1",
		"lpt0":            "%6cpt0",
		"aux.example.com": "%61ux.example.com",
		"console":         "console",
		"aux-1":           "aux-1",
		"com10":           "com10",
		"Aux":             "%41ux",
		"CON":             "%43%4f%4e",
		"system:View":     "system%3a%56iew",
		`a\b`:             "a%5cb",
		"a b":             "a%20b",
	} {
		if got := escape(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestRenderOwnsFilesInANamespaceNamedAfterADevice(t *testing.T) {
	o := manifest.Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "aux", "namespace": "aux"},
	}}}
	placed := Layout([]manifest.Object{o}, func(schema.GroupVersionKind) (bool, bool) { return true, true })
	const want = "%61ux/configmap-aux.yaml"
	if len(placed) != 1 || placed[0].Path != want || !IsOwnable(want) {
		t.Errorf("%v, want %s, which render owns", placed, want)
	}
}

// Diffs must be the same on every system, and valid for `git apply`.
func TestDiffOfNewFileIsFromDevNull(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	plan, problems := ReadPrevious(root, "prod").Plan([]File{{Path: "shop/a.yaml", Content: []byte("a: 1\n")}}, nil, Index{})
	defer plan.Close()
	if diff := plan.Diff(); len(problems) > 0 || !strings.HasPrefix(diff, "--- /dev/null\n+++ b/rendered/prod/shop/a.yaml\n") {
		t.Errorf("problems %v: %s", problems, diff)
	}
}

// A file would be an orphan.
func TestLockLeavesNoFile(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "environments")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	unlock, err := Lock(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	for _, dir := range []string{folder, filepath.Dir(folder)} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if entry.Name() != "environments" {
				t.Errorf("%s in %s", entry.Name(), dir)
			}
		}
	}
}
