package render

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
)

// The indexes list objects in apply order. With sortOptions it is kustomize's order.
func TestIndexKeepsApplyOrder(t *testing.T) {
	golden(t, "testdata/sort/*.txtar", "rendered/", func(t *testing.T, root string) *txtar.Archive {
		indexes := &txtar.Archive{}
		for _, e := range mustRun(t, root).Environments {
			name := filepath.Join("rendered", e.Name, "kustomization.yaml")
			content, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			indexes.Files = append(indexes.Files, txtar.File{Name: name, Data: content})
			if strings.Contains(string(content), "sortOptions:") {
				testOrder(t, root, e.Name)
			}
		}
		return indexes
	})
}

// A build in parts keeps kustomize's order.
func TestPartsKeepApplyOrder(t *testing.T) {
	for _, order := range []string{"fifo", "legacy"} {
		t.Run(order, func(t *testing.T) {
			var b strings.Builder
			fmt.Fprintf(&b, "-- environments/prod/kustomization.yaml --\nresources: [b, a]\nnamespace: shop\nsortOptions: {order: %s}\n", order)
			for _, folder := range []string{"a", "b"} {
				fmt.Fprintf(&b, "-- environments/prod/%s/kustomization.yaml --\nresources: [all.yaml]\nnamePrefix: %s-\nconfigMapGenerator: [{name: generated}]\n-- environments/prod/%s/all.yaml --\n", folder, folder, folder)
				for i := range 60 {
					fmt.Fprintf(&b, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c-%d}}\n", i)
					fmt.Fprintf(&b, "---\n{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: m-%d}}\n", i)
				}
			}
			root := write(t, b.String())
			mustRun(t, root)
			testOrder(t, root, "prod")
		})
	}
}

// testOrder tests that `kustomize build` orders the source objects as the rendering does, and that it
// keeps the order of the rendered tree.
func testOrder(t *testing.T, root, environment string) {
	t.Helper()
	repository, err := Open(root, gatehouse.All(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	e := repository.Load(environment, LoadOptions{})
	rendering, problems := e.Rendering, e.Problems
	if rendering == nil {
		t.Fatal(problems)
	}
	isRendered := func(o manifest.Object) bool { return o.Written == nil || o.IsRendered() }
	written := slices.DeleteFunc(slices.Clone(rendering.Objects), isRendered)
	equal(t, environment+": what was written", orderOfKustomize(t, filepath.Join(root, "environments", environment)), names(written))
	equal(t, environment+": what is rendered", orderOfKustomize(t, filepath.Join(root, "rendered", environment)), names(rendering.Objects))
}

func names(objects []manifest.Object) string {
	var all []string
	for _, o := range objects {
		all = append(all, o.GetAPIVersion()+" "+o.String())
	}
	return strings.Join(all, "\n")
}

// orderOfKustomize returns the objects of `kustomize build` in their order.
func orderOfKustomize(t *testing.T, folder string) string {
	t.Helper()
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone
	options.Reorder = krusty.ReorderOptionUnspecified
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range resources.Resources() {
		all = append(all, r.GetApiVersion()+" "+manifest.ID{Kind: r.GetKind(), Namespace: r.GetNamespace(), Name: r.GetName()}.String())
	}
	return strings.Join(all, "\n")
}

// testBuilt tests that `kustomize build` of a rendered environment makes the rendered objects.
func testBuilt(t *testing.T, root, environment string) {
	t.Helper()
	repository, err := Open(root, gatehouse.All(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	e := repository.Load(environment, LoadOptions{})
	rendering, problems := e.Rendering, e.Problems
	if rendering == nil {
		t.Fatal(problems)
	}
	resources, err := runKustomize(filepath.Join(root, "rendered", environment))
	if err != nil {
		t.Fatalf("kustomize build rendered/%s: %v", environment, err)
	}
	var want, got []string
	for _, o := range rendering.Objects {
		content, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, indented(content))
	}
	for _, r := range resources.Resources() {
		content, err := r.MarshalJSON() // AsYAML breaks long texts at U+2028
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, indented(content))
	}
	slices.Sort(want)
	slices.Sort(got)
	equal(t, "kustomize build rendered/"+environment, strings.Join(want, ""), strings.Join(got, ""))
}

// YAML has to quote the names of some folders, such as that of a namespace named like a device of Windows.
func TestKustomizeBuildsRenderedObjectsOfAnyName(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"@", "`", "!", "&", "*", "?", "-", "- ", ":", ": ", "#", " #", "|", ">", "'", "\"", "[", "]", "{", "}", ",", "~", ".", "..", "=", "<<", "_", "\\", "$", "${A}", "aux",
		"con", "null", "true", "1", "0x1", "1e3", "A", "é", "\u00a0", "\u2028", "\u202e", "\ufeff", " ", "\t", "a", "b", strings.Repeat("long-", 60)}
	namespaces := []string{"aux", "con", "prn", "nul", "com1", "lpt9", "null", "true", "no", "1", "0x1", "1e3", "1-1", "a"}
	name := func(i int) string {
		var b strings.Builder
		for range 1 + random.IntN(4) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		return b.String() + fmt.Sprint(i)
	}
	var objects strings.Builder
	for i := range 300 {
		fmt.Fprintf(&objects, "---\n{apiVersion: example.com/v1, kind: Thing, metadata: {name: %q, namespace: %q}, i: %d}\n", name(i), namespaces[i%len(namespaces)], i)
		fmt.Fprintf(&objects, "---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %q}}\n", name(i))
	}
	root := write(t, "-- environments/prod/kustomization.yaml --\nresources: [all.yaml]\n-- environments/prod/all.yaml --\n"+objects.String())
	mustRun(t, root)
	testBuilt(t, root, "prod")
	equal(t, "rendered again", "", strings.Join(mustRun(t, root).Environments[0].Plan.Written(), "\n"))
}
