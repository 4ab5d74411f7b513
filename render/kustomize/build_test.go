package kustomize

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/kustomize/parts"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
)

// configMaps returns a repository of n ConfigMaps in one file, with value in the last of them.
func configMaps(n int, value string) *txtar.Archive {
	var b strings.Builder
	for i := range n {
		if i == n-1 {
			fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d}, data: {a: %s}}\n", i, value)
		} else {
			fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d}, data: {a: b}}\n", i)
		}
	}
	return &txtar.Archive{Files: []txtar.File{
		{Name: "environments/prod/kustomization.yaml", Data: []byte("namePrefix: p-\nresources: [all.yaml]\n")},
		{Name: "environments/prod/all.yaml", Data: []byte(b.String())},
	}}
}

func TestMemoRebuildsOnlyChangedParts(t *testing.T) {
	const objects = 4 * parts.Size
	build := func(m *memo.Memo, value string) []manifest.Object {
		s := readSources(t, t.TempDir(), configMaps(objects, value))
		built, problems := Build(FindPaths(s, prod), m)
		if len(problems) > 0 || len(built) != objects {
			t.Fatalf("%d objects, problems: %v", len(built), problems)
		}
		return built
	}
	m := &memo.Memo{}
	first, second := build(m, "first"), build(m, "second")
	kept := 0
	for i := range first {
		if first[i].Unstructured == second[i].Unstructured {
			kept++
		}
	}
	if kept != objects-parts.Size {
		t.Errorf("%d objects are kept, want the objects of 3 of 4 parts", kept)
	}
	s := readSources(t, t.TempDir(), configMaps(objects, "second"))
	if difference := newResult(s, build(nil, "second"), nil).diff(newResult(s, second, nil)); difference != "" {
		t.Error(difference)
	}
}

// Tools that apply the output of kustomize read an empty line before an indented one, and Argo CD reads the files of a
// directory itself. Both may share a memo.
func TestFoldedTextIsAsItsToolReadsIt(t *testing.T) {
	const folded = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: folded}\ndata:\n  a: >-\n    one\n      two\n"
	archive := configMaps(4*parts.Size, "b")
	all := &archive.Files[1]
	all.Data = append([]byte(folded), all.Data...)
	m := &memo.Memo{}
	for isDirectory, want := range map[bool]string{false: "one\n\n  two", true: "one\n  two"} {
		paths := FindPaths(readSources(t, t.TempDir(), archive), prod)
		paths.IsDirectory = isDirectory
		built, problems := Build(paths, m)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		for _, o := range built {
			got, _, _ := unstructured.NestedString(o.Object, "data", "a")
			if strings.HasSuffix(o.GetName(), "folded") && got != want {
				t.Errorf("a directory: %t: %q, want %q", isDirectory, got, want)
			}
		}
	}
}

// A folder is built again only if a file changes that its build saw.
func TestMemoBuildsASmallFolderOnce(t *testing.T) {
	const kustomization = "-- environments/prod/kustomization.yaml --\nresources: [../../base]\npatches: [{path: patch.yaml}]\n"
	const base = "-- base/kustomization.yaml --\nresources: [a.yaml]\n"
	const object = "-- base/a.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b}}\n"
	const patch = "-- environments/prod/patch.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {c: d}}\n"
	m := &memo.Memo{}
	build := func(archive string) manifest.Object {
		s := readSources(t, t.TempDir(), txtar.Parse([]byte(archive)))
		built, problems := Build(FindPaths(s, prod), m)
		if len(problems) > 0 || len(built) != 1 {
			t.Fatalf("%s\n%v %v", archive, built, problems)
		}
		return built[0]
	}
	first := build(kustomization + base + object + patch)
	for change, test := range map[string]struct {
		archive string
		isBuilt bool
	}{
		"nothing":                {kustomization + base + object + patch, false},
		"a file that none loads": {kustomization + base + object + patch + "-- base/b.yaml --\nx\n", false},
		"an object":              {kustomization + base + strings.Replace(object, "a: b", "a: c", 1) + patch, true},
		"a patch":                {kustomization + base + object + strings.Replace(patch, "c: d", "c: e", 1), true},
		"a base":                 {kustomization + base + "nameSuffix: -b\n" + object + patch, true},
		"an overlay":             {kustomization + "nameSuffix: -b\n" + base + object + patch, true},
	} {
		again := build(test.archive)
		if isBuilt := again.Unstructured != first.Unstructured; isBuilt != test.isBuilt {
			t.Errorf("with a change of %s it is built again: %t", change, isBuilt)
		}
	}
}
