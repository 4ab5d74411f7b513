package render

import (
	"fmt"
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
	repository, err := Open(root, gatehouse.All())
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	rendering, problems := Render(repository, environment, func(string) {})
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
