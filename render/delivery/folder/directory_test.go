package folder

import (
	"strings"
	"testing"
)

// As findManifests of Argo CD: gobwas without separators, hidden folders, and files that are no manifests.
func TestFilesOfADirectory(t *testing.T) {
	const manifest = " --\napiVersion: v1\nkind: A\nmetadata: {name: a}\n"
	archive := "-- a/one.yaml" + manifest + "-- a/two.yml" + manifest + "-- a/three.json --\n{\"kind\": \"A\"}\n-- a/four.json --\n{}\n-- a/text.txt" + manifest +
		"-- a/sub/deep/x.yaml" + manifest + "-- a/sub/y.yaml" + manifest + "-- a/.hidden/z.yaml" + manifest +
		"-- a/skip.yaml --\n# +argocd:skip-file-rendering\nkind: A\n-- a/main.jsonnet --\n{}\n" +
		"-- a/values.yaml --\ncopies: 2\n-- a/wrong.yaml --\napiVersion: v1\nkind:\nmetadata: [\n-- a/comment.yaml --\n# none\n" +
		"-- a/template.yaml --\n{{ if }}\nkind: A\n"
	for directory, want := range map[string]string{
		"{}":                                   "one.yaml three.json two.yml wrong.yaml main.jsonnet",
		"{recurse: true}":                      ".hidden/z.yaml one.yaml sub/deep/x.yaml sub/y.yaml three.json two.yml wrong.yaml main.jsonnet",
		"{recurse: true, include: '*.yaml'}":   ".hidden/z.yaml one.yaml sub/deep/x.yaml sub/y.yaml wrong.yaml",
		"{recurse: true, include: '*/?.yaml'}": ".hidden/z.yaml sub/deep/x.yaml sub/y.yaml",
		"{recurse: true, exclude: '{sub/*,.hidden/*,*.json*}'}":     "one.yaml two.yml wrong.yaml",
		"{recurse: true, include: 'sub/**', exclude: 'sub/deep/*'}": "sub/y.yaml",
		"{include: '['}": "",
	} {
		place := Places(object(t, anApplication+"spec: {source: {path: a, directory: "+directory+"}}"))[0]
		listed := place.List(repository(t, archive))
		got := strings.ReplaceAll(strings.Join(append(listed.Resources, listed.Jsonnet...), " "), "./", "")
		if got != want {
			t.Errorf("%s: %s, want %s", directory, got, want)
		}
	}
}

// As getObjsFromYAMLOrJSON of Argo CD: one object in a file of JSON, and a kustomization is an object as well.
func TestFilesThatArgoCDRefuses(t *testing.T) {
	const one = `{"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}}`
	for content, want := range map[string]string{
		"a.json --\n" + one + "\n":                                              "",
		"a.json --\n" + one + "\n" + one + "\n":                                 "a/a.json:1: Argo CD reads one object",
		"a.json --\n{\"kind\": \"List\", \"items\": [" + one + "]}\n":           "",
		"kustomization.yaml --\napiVersion: k/v1\nkind: Kustomization\n":        "a/kustomization.yaml:1: Argo CD applies this",
		"b/kustomization.yml --\napiVersion: k/v1\nkind: Kustomization\n":       "a/b/kustomization.yml:1: Argo CD applies this",
		"b/Kustomization --\napiVersion: k/v1\nkind: Kustomization\n":           "",
		"kustomization.yaml --\nresources: [a.yaml]\n":                          "",
		"kustomization.yaml --\n# +argocd:skip-file-rendering\nkind: K\n":       "",
		"a.json --\n{\"title\": \"Dashboard\", \"annotations\": {\"a\": {}}}\n": "",
	} {
		place := Places(object(t, anApplication+"spec: {source: {path: a, directory: {recurse: true}}}"))[0]
		got := ""
		for _, p := range place.List(repository(t, "-- a/"+content)).Problems {
			got += p.String()
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %s, want %s", content, got, want)
		}
	}
}

// Other objects of the file keep their lines.
func TestOfAKeyOfADirectoryTheLastValueCounts(t *testing.T) {
	const twice = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b, a: yes}}"
	const once = `{"apiVersion":"v1","data":{"a":true},"kind":"ConfigMap","metadata":{"name":"a"}}`
	for content, want := range map[string]string{
		twice: once, twice + "\n": "\n" + once, "---\n" + twice + "\n---\nkind: K\n": "---\n" + once + "\n---\nkind: K\n",
		"kind: K\n---\nkind: L\nmetadata:\n  name: a\n  name: b\n---\nkind: M\n": "kind: K\n---\n" + `{"kind":"L","metadata":{"name":"b"}}` + "\n\n\n\n---\nkind: M\n",
	} {
		l := Listing{}
		if got := string(l.takeLast("/a.yaml", []byte(content))); got != want || len(l.Problems) != 1 {
			t.Errorf("%q: %q, want %q; %v", content, got, want, l.Problems)
		}
	}
}

// As LineReader of apimachinery, by which Argo CD reads.
func TestATextAtTheEndOfAFileOfADirectoryHasItsLineEnd(t *testing.T) {
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for content, want := range map[string]string{
		manifest + "data:\n  a: |\n    text":   manifest + "data:\n  a: |\n    text\n",
		manifest + "data:\n  a: |\n    text\n": "", manifest + "data: {a: text}": "",
	} {
		files := repository(t, "-- a/a.yaml --\n").With(map[string][]byte{"/a/a.yaml": []byte(content)})
		place := Places(object(t, anApplication+"spec: {source: {path: a, directory: {recurse: true}}}"))[0]
		if got := string(place.List(files).changed["/a/a.yaml"]); got != want {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
}

// Argo CD creates a hook with the name that the API server makes. Lines stay.
func TestHooksGetNames(t *testing.T) {
	const hook = "annotations: {argocd.argoproj.io/hook: Sync}"
	for content, want := range map[string]string{
		"kind: Job\nmetadata:\n  generateName: sweep-\n  " + hook + "\n":               "metadata:\n  name: sweep-",
		"metadata: {generateName: 'sweep-', " + hook + "}\n":                           "metadata: {name: 'sweep-",
		"metadata: {generateName: sweep-, annotations: {helm.sh/hook: pre-install}}\n": "metadata: {name: sweep-",
		"metadata: {generateName: sweep-}\n":                                           "",
		"metadata: {generateName: sweep-, name: sweep, " + hook + "}\n":                "",
	} {
		got := string(nameHooks("/a.yaml", []byte(content)))
		if !strings.Contains(got, want) || (got == content) != (want == "") || want != "" && strings.Contains(got, "sweep-\n") {
			t.Errorf("%s: %s", content, got)
		}
	}
	two := "metadata: {generateName: a-, " + hook + "}\n---\nmetadata: {generateName: a-, " + hook + "}\n"
	lines := strings.Split(string(nameHooks("/a.yaml", []byte(two))), "\n")
	if len(lines) != 4 || lines[0] == lines[2] {
		t.Errorf("%q", lines)
	}
}
