package buildpath_test

import (
	"slices"
	"testing"

	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/source"
)

// shop has the fields of prod in the order of the alphabet, which is not that of kustomize.
const shop = `
-- prod/kustomization.yaml --
components: [../part]
configMapGenerator:
- {name: settings, behavior: merge, files: [more.conf]}
- {name: own, files: [own.conf]}
labels: [{pairs: {team: a}}]
namePrefix: p-
nameSuffix: -s
namespace: shop
patches:
- path: web.yaml
- {target: {kind: Service}, patch: '[{op: add, path: /spec/clusterIP, value: None}]'}
replicas: [{name: web, count: 3}]
resources: [../base]
-- prod/web.yaml --
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {paused: true}}
-- prod/more.conf --
a
-- prod/own.conf --
a
-- base/kustomization.yaml --
configMapGenerator: [{name: settings, files: [first.conf]}]
resources: [all.yaml]
-- base/first.conf --
a
-- base/all.yaml --
{apiVersion: v1, kind: Service, metadata: {name: web}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}
-- part/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches: [{target: {kind: Deployment}, path: part.yaml}]
-- part/part.yaml --
[{op: add, path: /spec/minReadySeconds, value: 5}]
`

// TestEntriesAreInTheOrderOfKustomize has the order in which kustomize changes objects, without resources.
func TestEntriesAreInTheOrderOfKustomize(t *testing.T) {
	want := []string{"configMapGenerator[0]", "configMapGenerator[1]", "patches[0] of web.yaml", "patches[1]", "namespace", "namePrefix", "nameSuffix", "labels[0]", "replicas[0]"}
	paths := findIn(t, shop)
	if got := names(paths.Entries("/prod")); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	want = append([]string{"patches[0] of part.yaml"}, want...)
	if got := names(paths.Entries("/part", "/prod", "/part")); !slices.Equal(got, want) {
		t.Errorf("of several folders: got %q, want %q", got, want)
	}
	for _, e := range paths.Entries("/prod") {
		if e.Patch != nil && e.Patch.Entry() != e.Name || e.Generator != nil && e.Generator.Field() != e.Field {
			t.Errorf("%s is %+v %+v", e.Name, e.Patch, e.Generator)
		}
	}
}

func names(entries []buildpath.Entry) (all []string) {
	for _, e := range entries {
		name := e.Name
		if e.Loads != "" {
			name += " of " + e.Loads
		}
		all = append(all, name)
	}
	return all
}

// TestUntilKeepsEarlierEntries follows the Service of base without the entries of prod after some entry. Generators
// stay, as others may name their objects, but later ones merge nothing.
func TestUntilKeepsEarlierEntries(t *testing.T) {
	paths := findIn(t, shop)
	for _, test := range []struct {
		last  string // none for the build without prod
		kept  []string
		final buildpath.Identity
	}{
		{"", nil, buildpath.Identity{Name: "web", Namespace: "default"}},
		{"configMapGenerator[1]", nil, buildpath.Identity{Name: "web", Namespace: "default"}},
		{"patches[0]", []string{"patches[0] of web.yaml"}, buildpath.Identity{Name: "web", Namespace: "default"}},
		{"namespace", []string{"patches[0] of web.yaml", "patches[1]", "namespace"}, buildpath.Identity{Name: "web", Namespace: "shop"}},
		{"namePrefix", []string{"patches[0] of web.yaml", "patches[1]", "namespace", "namePrefix"}, buildpath.Identity{Name: "p-web", Namespace: "shop"}},
		{"nameSuffix", []string{"patches[0] of web.yaml", "patches[1]", "namespace", "namePrefix", "nameSuffix"}, buildpath.Identity{Name: "p-web-s", Namespace: "shop"}},
	} {
		var last *buildpath.Entry
		for _, e := range paths.Entries("/prod") {
			if e.Name == test.last {
				last = &e
			}
		}
		until, err := paths.Until([]string{"/prod"}, last)
		if err != nil {
			t.Fatal(err)
		}
		want := append([]string{"configMapGenerator[0]", "configMapGenerator[1]"}, test.kept...)
		if got := names(until.Entries("/prod")); !slices.Equal(got, want) {
			t.Errorf("until %q: got %q, want %q", test.last, got, want)
		}
		if got := until.All[0].Last(); got != test.final {
			t.Errorf("until %q: got %v, want %v", test.last, got, test.final)
		}
	}
	without, err := paths.Until([]string{"/prod"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	merged, created := without.Generators["/prod"][0], without.Generators["/prod"][1]
	if len(merged.FileSources) > 0 || !slices.Equal(created.FileSources, []string{"own.conf"}) {
		t.Errorf("without prod, the generators load %q and %q", merged.FileSources, created.FileSources)
	}
	if kept := len(paths.Entries("/prod")); kept != 9 {
		t.Errorf("%d entries are left in the whole build", kept)
	}
}

// TestFilesOfAnObject has all files that have an object or may change it. namePrefix changes every object.
func TestFilesOfAnObject(t *testing.T) {
	paths := findIn(t, shop)
	all := []string{"/base/all.yaml", "/base/first.conf", "/base/kustomization.yaml", "/part/kustomization.yaml", "/part/part.yaml", "/prod/kustomization.yaml", "/prod/more.conf", "/prod/own.conf", "/prod/web.yaml"}
	for _, test := range []struct {
		kind, name     string // of the source object
		files, folders []string
	}{
		{"Service", "web", []string{"/base/all.yaml", "/prod/kustomization.yaml"}, []string{"/prod"}},
		{"Deployment", "web", []string{"/base/all.yaml", "/part/kustomization.yaml", "/part/part.yaml", "/prod/kustomization.yaml", "/prod/web.yaml"}, []string{"/part", "/prod"}},
		{"ConfigMap", "settings", []string{"/base/first.conf", "/base/kustomization.yaml", "/prod/kustomization.yaml", "/prod/more.conf"}, []string{"/prod"}},
		{"ConfigMap", "own", []string{"/prod/kustomization.yaml", "/prod/own.conf"}, []string{"/prod"}},
	} {
		i := slices.IndexFunc(paths.All, func(p buildpath.Path) bool {
			return p.GVK.Kind == test.kind && p.Document.Name == test.name
		})
		if i < 0 {
			t.Errorf("%s %s has no path", test.kind, test.name)
			continue
		}
		var files, folders []string
		for _, file := range all {
			if paths.Uses(paths.All[i], file) {
				files = append(files, file)
			}
		}
		for _, k := range paths.Changing(paths.All[i]) {
			folders = append(folders, k.Folder)
		}
		if !slices.Equal(files, test.files) || !slices.Equal(folders, test.folders) {
			t.Errorf("%s %s: got %q in %q, want %q in %q", test.kind, test.name, files, folders, test.files, test.folders)
		}
	}
}

// TestFilesOfOverrides takes prod for the overrides of objects that others render, and asks for the files that may
// change these.
func TestFilesOfOverrides(t *testing.T) {
	paths := findIn(t, shop)
	if got := paths.Overrides("/prod"); !slices.Equal(got, []string{"/part", "/prod"}) {
		t.Errorf("the folders are %q", got)
	}
	for _, test := range []struct {
		kind, name, file string
		want             bool
	}{
		{"Deployment", "any", "/part/part.yaml", true},
		{"Service", "any", "/part/part.yaml", false},
		{"ConfigMap", "own", "/prod/own.conf", true},
		{"ConfigMap", "any", "/prod/own.conf", false},
		{"ConfigMap", "any", "/prod/kustomization.yaml", true},
	} {
		if got := paths.OverridesUse("/prod", objectOf(test.kind, "", test.name), test.file); got != test.want {
			t.Errorf("%s %s and %s: got %t", test.kind, test.name, test.file, got)
		}
	}
}

// TestPatchesOfTransformers has the kinds of transformers that patch, and the ways to write their patches.
func TestPatchesOfTransformers(t *testing.T) {
	const patch = "'{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: None}}'"
	for transformer, want := range map[string]struct{ patches, targets int }{
		"kind: PatchTransformer, metadata: {name: t}, patch: " + patch:                                                              {1, 0},
		"kind: PatchTransformer, metadata: {name: t}, path: p.yaml, target: {kind: Service}":                                        {1, 1},
		"kind: PatchStrategicMergeTransformer, metadata: {name: t}, patches: " + patch:                                              {1, 0},
		"kind: PatchStrategicMergeTransformer, metadata: {name: t}, paths: [p.yaml, p.yaml]":                                        {2, 0},
		"kind: PatchJson6902Transformer, metadata: {name: t}, target: {name: web}, jsonOp: '[{op: remove, path: /spec/clusterIP}]'": {1, 1},
		"kind: LabelTransformer, metadata: {name: t}, labels: {a: b}, fieldSpecs: [{path: metadata/labels, create: true}]":          {},
	} {
		paths := findIn(t, "-- prod/kustomization.yaml --\nresources: [web.yaml]\ntransformers: [t.yaml]\n-- prod/t.yaml --\n{apiVersion: builtin, "+transformer+
			"}\n-- prod/web.yaml --\n{apiVersion: v1, kind: Service, metadata: {name: web}}\n")
		patches, targets := 0, 0
		for _, p := range buildpath.PatchesIn(paths.Sources.Documents("/prod/t.yaml"), func(file string) []source.Document {
			if file == "" {
				return nil
			}
			return paths.Sources.Documents("/prod/web.yaml")
		}) {
			patches += len(p.Each())
			if p.Selector != nil && len(p.Documents) > 0 {
				targets++
			}
		}
		if patches != want.patches || targets != want.targets {
			t.Errorf("%s: got %d patches, %d with a target", transformer, patches, targets)
		}
	}
}
