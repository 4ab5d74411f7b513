package parts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/kustomize/parts"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/test/sources"
)

const prod = "/environments/prod"

// workloads has six objects that refer to each other by name.
const workloads = `
-- base/kustomization.yaml --
resources: [web.yaml, api.yaml]
configMapGenerator: [{name: web, literals: [k=v]}]
-- base/web.yaml --
apiVersion: v1
kind: Service
metadata: {name: web, labels: {app: web}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      serviceAccountName: web
      containers: [{name: web, image: "registry.io/web:1", envFrom: [{configMapRef: {name: web}}]}]
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: web}}
-- base/api.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  template:
    spec:
      containers: [{name: api, image: registry.io/api, envFrom: [{secretRef: {name: api}}]}]
---
{apiVersion: v1, kind: Secret, metadata: {name: api}, data: {k: dg==}}
`

// TestPartsBuildTheObjectsOfOneBuild builds each kustomization at once and in parts of one to three objects.
func TestPartsBuildTheObjectsOfOneBuild(t *testing.T) {
	for _, test := range []struct{ name, kustomization, want string }{
		{"names", "namePrefix: a-", "Deployment a-web"},
		{"a namespace", "namespace: shop", "Deployment shop/web"},
		{"a patch of one object", "patches: [{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3}}'}]", "replicas: 3"},
		{"a patch of a pattern", `patches: [{target: {kind: Deployment, name: .*}, patch: '[{"op": "add", "path": "/spec/paused", "value": true}]'}]`, "paused: true"},
		{"an image", "images: [{name: registry.io/web, newTag: '2'}, {name: registry.io/api, newName: other}]", "image: registry.io/web:2"},
		{"an image that another entry renames", "images: [{name: registry.io/web, newName: registry.io/next}, {name: registry.io/next, newTag: '3'}]", "image: registry.io/next:3"},
		{"replicas", "replicas: [{name: api, count: 4}]", "replicas: 4"},
		{"a replacement", "replacements: [{source: {kind: Service, name: web, fieldPath: metadata.labels.app}, targets: [{select: {kind: Secret}, fieldPaths: [data.k]}]}]", "k: web"},
		{"a merged generator", "configMapGenerator: [{name: web, behavior: merge, literals: [l=w]}]", "l: w"},
		{"a component", "components: [../../component]", "team: a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			paths := find(t, "-- environments/prod/kustomization.yaml --\nresources: [../../base]\n"+test.kustomization+
				"\n-- component/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nlabels: [{pairs: {team: a}}]"+workloads)
			whole, err := build(paths.Sources.FS, prod)
			if err != nil {
				t.Fatal(err)
			}
			want := text(t, whole)
			if !strings.Contains(want, test.want) {
				t.Fatalf("one build has no %q:\n%s", test.want, want)
			}
			for size := 1; size <= 2; size++ {
				d := parts.Divide(paths, size)
				if d.Len() < 2 {
					t.Fatalf("%d parts of %d objects", d.Len(), size)
				}
				objects, err := d.Build(nil, build)
				if err != nil {
					t.Fatal(err)
				}
				if got := text(t, objects); got != want {
					t.Errorf("parts of %d objects: got\n%s\nwant\n%s", size, got, want)
				}
			}
		})
	}
}

// TestPartsFailAsOneBuild has mistakes that concern one object, or no object.
func TestPartsFailAsOneBuild(t *testing.T) {
	for _, kustomization := range []string{
		"patches: [{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: wep}, spec: {replicas: 3}}'}]",
		`patches: [{target: {name: web, kind: Deployment}, patch: '[{"op": "remove", "path": "/spec/none"}]'}]`,
		"replicas: [{name: none, count: 4}]",
		"configMapGenerator: [{name: none, behavior: merge, literals: [l=w]}]",
		`images: [{name: other, newTag: '1'}]
patches: [{target: {name: web, kind: Deployment}, patch: '[{"op": "add", "path": "/spec/template/spec/containers/0/image", "value": ["web"]}]'}]`,
	} {
		paths := find(t, "-- environments/prod/kustomization.yaml --\nresources: [../../base]\n"+kustomization+workloads)
		if _, err := build(paths.Sources.FS, prod); err == nil {
			t.Errorf("%s: one build succeeds", kustomization)
		}
		if _, err := parts.Divide(paths, 1).Build(nil, build); err == nil {
			t.Errorf("%s: the parts succeed", kustomization)
		}
	}
}

// TestEnvironmentsShareParts builds environments with one memo that differ in a namespace, a label and an image.
func TestEnvironmentsShareParts(t *testing.T) {
	m, built := &memo.Memo{}, 0
	count := func(fs *source.FileSystem, folder string) ([]manifest.Object, error) {
		built++
		return build(fs, folder)
	}
	for i := range 3 {
		name := fmt.Sprintf("shop-%d", i)
		paths := find(t, "-- environments/prod/kustomization.yaml --\nresources: [namespace.yaml, ../../base]\nnamespace: "+name+
			"\nlabels: [{pairs: {environment: "+name+"}}]\nimages: [{name: registry.io/api, newTag: '"+name+"'}]\n-- environments/prod/namespace.yaml --\n"+
			"{apiVersion: v1, kind: Namespace, metadata: {name: "+name+"}}"+workloads)
		before := built
		objects, err := parts.Divide(paths, 1).Build(m, count)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := build(paths.Sources.FS, prod)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := text(t, objects), text(t, whole); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
		if again := built - before; i > 0 && again != 2 { // the Namespace, and the Deployment with the image
			t.Errorf("%s: %d parts are built again, want 2", name, again)
		}
	}
}

// find returns the build paths of a repository.
func find(t *testing.T, archive string) *buildpath.Paths {
	t.Helper()
	s := sources.Read(t, t.TempDir(), txtar.Parse([]byte(archive)).Files, prod)
	if len(s.Problems) > 0 {
		t.Fatal(s.Problems)
	}
	return buildpath.Find(s, prod)
}

// build is kustomize build.
func build(files *source.FileSystem, folder string) ([]manifest.Object, error) {
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone
	resources, err := krusty.MakeKustomizer(options).Run(files, folder)
	if err != nil {
		return nil, err
	}
	content, err := resources.AsYaml()
	if err != nil || resources.Size() == 0 {
		return nil, err
	}
	objects, problems := tree.Objects("", []tree.File{{Path: "built.yaml", Content: content}})
	if len(problems) > 0 {
		return nil, fmt.Errorf("%v", problems)
	}
	return objects, nil
}

// text returns the sorted YAML of objects.
func text(t *testing.T, objects []manifest.Object) string {
	t.Helper()
	var all []string
	for _, o := range objects {
		content, err := o.YAML()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, "--- "+o.String()+"\n"+string(content))
	}
	slices.Sort(all)
	return strings.Join(all, "")
}
