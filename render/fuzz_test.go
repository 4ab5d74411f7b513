package render

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/render/manifests"
)

// FuzzRender renders an environment of any kustomization and any manifest.
func FuzzRender(f *testing.F) {
	files, err := filepath.Glob("testdata/problems/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(archive.Files[0].Data), string(archive.Files[1].Data))
	}
	f.Fuzz(func(t *testing.T, kustomization, manifest string) {
		root := t.TempDir()
		write(t, string(txtar.Format(&txtar.Archive{Files: []txtar.File{
			{Name: "environments/prod/kustomization.yaml", Data: []byte(kustomization)},
			{Name: "environments/prod/a.yaml", Data: []byte(manifest)},
		}})), root)
		before := snapshot(t, root)
		report, err := Run(t.Context(), Options{Root: root, Environments: []string{"prod"}})
		if err == nil && report.Failed() && snapshot(t, root) != before {
			t.Error("a run with problems changed files")
		}
	})
}

// FuzzSchedule: what the CustomResourceDefinition takes for a time, Go reads.
func FuzzSchedule(f *testing.F) {
	for _, schedule := range []string{"2027-01-01T00:00:00Z", "2027-01-01T00:00:00.123+23:59", "2027-12-31T23:59:60Z", "2027-01-01t00:00:00z", "0000-02-29T24:00:00-24:00"} {
		f.Add(schedule)
	}
	kind := embeddedKinds()[cnatv1alpha1.SchemeGroupVersion.WithKind(cnatv1alpha1.KindAt)]
	f.Fuzz(func(t *testing.T, schedule string) {
		at := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "cnat.programming-kubernetes.info/v1alpha1", "kind": "At",
			"metadata": map[string]any{"name": "a"},
			"spec":     map[string]any{"schedule": schedule, "command": "date"},
		}}
		if _, errs := kind.check(at); len(errs) > 0 {
			return
		}
		if _, err := manifests.Schedule(cnatv1alpha1.AtSpec{Schedule: schedule}); err != nil {
			t.Errorf("valid, but: %v", err)
		}
	})
}

// FuzzIndex: no line of an index is taken for a path out of its folder.
func FuzzIndex(f *testing.F) {
	f.Add("- shop/a.yaml\n- ../a.yaml\n- /a/b.yaml\n- a/../../b.yaml\n")
	f.Fuzz(func(t *testing.T, content string) {
		for name := range readIndex([]byte(content)) {
			if !filepath.IsLocal(name) || strings.Count(name, "/") != 1 {
				t.Errorf("takes %q", name)
			}
		}
	})
}
