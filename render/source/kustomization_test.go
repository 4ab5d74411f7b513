package source_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/charts"
	"example.com/gatehouse/test/sources"
)

// Problems of a kustomization are found before kustomize runs, all at once, each with its line.
func TestProblemsOfAKustomizationHaveTheirLine(t *testing.T) {
	for name, test := range map[string]struct {
		kustomization string
		want          []string
	}{
		"valid":          {"resources: [map.yaml]", nil},
		"no field":       {"# all is gone\n", []string{"app/kustomization.yaml: is empty"}},
		"no mapping":     {"- map.yaml", []string{"app/kustomization.yaml:1: a kustomization is a mapping"}},
		"unknown fields": {"resource: [map.yaml]\npatch: []\n", []string{`app/kustomization.yaml:1: unknown field "resource": did you mean "resources"?`, `app/kustomization.yaml:2: unknown field "patch": did you mean "patches"?`}},
		"missing files":  {"resources:\n- map.yaml\n- gone.yaml\n- lost.yaml\n", []string{"app/kustomization.yaml:3: ", "app/kustomization.yaml:4: "}},
		"from the root":  {"resources:\n- map.yaml\n- other/here\n- other/gone\n", []string{"app/kustomization.yaml:3: other/here: no such file or folder in this repository: a path begins in the folder of its kustomization: write ../other/here", "app/kustomization.yaml:4: other/gone: no such"}},
		"keys twice":     {"metadata: {annotations: {a: b}, annotations: {c: d}}\nresources: [gone.yaml]\nresources:\n- map.yaml\n- lost.yaml\n", []string{"app/kustomization.yaml:1: warning: kustomize takes the last of equal keys alone: the key \"annotations\" is in line 1 as well", "app/kustomization.yaml:5: "}},
		"another kind":   {"kind: List\nresources: [map.yaml]", []string{"app/kustomization.yaml:1: kind should be"}},
	} {
		_, files := sources.Open(t, t.TempDir(), txtar.Parse([]byte(`
-- app/kustomization.yaml --
`+test.kustomization+`
-- app/map.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: map}
-- other/here/kustomization.yaml --
`)).Files)
		noCluster := func(*source.Kustomization, []manifest.Object) charts.Cluster { return charts.Cluster{} }
		problems := source.Read(nil, nil, files, nil, noCluster, nil, "/app").Problems
		problems = manifest.SortProblems(problems)
		if len(problems) != len(test.want) {
			t.Errorf("%s: %d problems, want %d", name, len(problems), len(test.want))
		}
		for i, p := range problems {
			if i < len(test.want) && !strings.HasPrefix(p.String(), test.want[i]) {
				t.Errorf("%s: %q, want %q", name, p, test.want[i])
			}
		}
	}
}

// As kustomize, which refuses any other key twice.
func TestAnnotationsOfAnObjectAreJoined(t *testing.T) {
	for metadata, want := range map[string]string{
		"{name: m, annotations: {a: b}, annotations: {c: d}}":                      "map[a:b c:d]",
		"{name: m, annotations: {a: b, c: d}, annotations: {a: c}}":                "map[a:b c:d]",
		"{name: m, annotations: {a: b}, annotations: {c: d}, annotations: {e: f}}": "map[a:b c:d e:f]",
		"{name: m, annotations: {a: b, a: c}}":                                     "map[a:c]",
		"{name: m, annotations: null, annotations: {a: c}}":                        "map[a:c]",
		"{name: m, labels: {a: b}, labels: {c: d}}":                                `the key "labels" is in line 3 as well`,
		"{name: m, name: n}": `the key "name" is in line 3 as well`,
		"{name: m, annotations: {a: b}, annotations: {c: d}}\nspec: {a: b, a: c}": `the key "a" is in line 4 as well`,
	} {
		const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: "
		list := "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(head+metadata), "\n", "\n  ")
		for _, content := range []string{head + metadata, list} {
			_, files := sources.Open(t, t.TempDir(), txtar.Parse([]byte("-- app/kustomization.yaml --\nresources: [map.yaml]\n"+
				"-- app/map.yaml --\n"+content+"\n")).Files)
			noCluster := func(*source.Kustomization, []manifest.Object) charts.Cluster { return charts.Cluster{} }
			read := source.Read(nil, nil, files, nil, noCluster, nil, "/app")
			got := ""
			for _, p := range read.Problems {
				got = p.Message
			}
			read.ReleaseTrees() // and parse the texts again
			for _, d := range read.SourceDocuments(manifest.ID{Kind: "ConfigMap", Name: "m"}) {
				got = fmt.Sprint(d.Annotations())
			}
			if !strings.Contains(strings.ReplaceAll(got, "line 6", "line 3"), want) && !strings.Contains(got, "in line 7") {
				t.Errorf("%s: %s, want %s", content, got, want)
			}
		}
	}
}

// A folder has at most one kustomization, by any of three names.
func TestReadKustomizationTakesTheFileThatThereIs(t *testing.T) {
	_, files := sources.Open(t, t.TempDir(), txtar.Parse([]byte(`
-- a/kustomization.yml --
namespace: a
resources: 1
-- b/Kustomization --
namespace: b
-- c/c.yaml --
namespace: c
`)).Files)
	for folder, want := range map[string]string{"/a": "a", "/b": "b", "/c": "", "/d": ""} {
		var k struct {
			Namespace string `json:"namespace"`
		}
		err := files.ReadKustomization(folder, &k)
		if k.Namespace != want || (err == nil) != (want != "") {
			t.Errorf("%s: namespace %q, %v", folder, k.Namespace, err)
		}
	}
}
