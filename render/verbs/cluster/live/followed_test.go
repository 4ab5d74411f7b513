package live

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/cluster"
)

// compareFollowed compares an environment whose Kustomization brings objects from apps/shop.
func (w *world) compareFollowed(text string, postBuild *flux.PostBuild) *compare.Comparison {
	w.Helper()
	c, err := cluster.New(unthrottled(server.Admin), "a test")
	w.must(err)
	r := renderedAs(w.namespace, nil)
	delivery := strings.NewReplacer("PATH", "apps/shop", "PRUNE", "true").Replace(kustomizationText)
	var objects []manifest.Object
	for _, o := range w.parse(text) {
		objects = append(objects, manifest.Object{Unstructured: o, File: "apps/shop/shop.yaml"})
	}
	place := folder.Places(manifest.Object{Unstructured: w.parse(delivery)[0]})[0]
	r.Deliveries = append(r.Deliveries, render.NewDelivery(place, objects, postBuild))
	environments, err := compareAll(w.Context(), c, gatehouse.All(), []*render.Rendering{r}, func(string, string) {})
	w.must(err)
	return environments[0]
}

// Objects of a followed folder are compared as its tool applies them, and those that it prunes show as removed.
func TestFollowedObjectsAreThoseOfTheirTool(t *testing.T) {
	sync := func(t *testing.T, path string, change ...func(*unstructured.Unstructured)) *world {
		w := newWorld(t)
		w.define("kustomize.toolkit.fluxcd.io", "v1", "Kustomization")
		w.apply("flux", strings.NewReplacer("PATH", path, "PRUNE", "true").Replace(kustomizationText))
		w.apply("kustomize-controller", twoMaps, append(change, mark("labels", "kustomize.toolkit.fluxcd.io/name", w.namespace),
			mark("labels", "kustomize.toolkit.fluxcd.io/namespace", "default"))...)
		return w
	}
	t.Run("equal", func(t *testing.T) {
		w := sync(t, "apps/shop")
		w.wantNone(w.compareFollowed(twoMaps, nil))
	})
	t.Run("pruned", func(t *testing.T) {
		w := sync(t, "apps/shop")
		w.want(w.compareFollowed(oneMap, nil), "removed ConfigMap b")
	})
	t.Run("another folder", func(t *testing.T) {
		w := sync(t, "apps/other")
		w.want(w.compareFollowed(oneMap, nil), `warning: Kustomization default/NS: syncs "./apps/other", which is not rendered/NS alone: the objects that it prunes are not listed`)
	})
	t.Run("edited", func(t *testing.T) {
		w := sync(t, "apps/shop")
		w.apply("kubectl-edit", strings.Replace(oneMap, "k: v", "k: w", 1))
		w.want(w.compareFollowed(twoMaps, nil), "changed ConfigMap a", "# kubectl-edit set data.k", "- k: w", "+ k: v")
	})
	t.Run("unknown variables", func(t *testing.T) {
		w := sync(t, "apps/shop")
		w.want(w.compareFollowed(strings.ReplaceAll(twoMaps, "k: v", `k: "${A}"`), &flux.PostBuild{}),
			"warning: not compared, as only the cluster has the values of their variables: ConfigMap NS/a, ConfigMap NS/b")
	})
}

// An environment whose variables Flux substitutes is compared with their values.
func TestVariablesOfAnEnvironmentHaveTheirValues(t *testing.T) {
	w := newWorld(t)
	w.apply("kustomize-controller", twoMaps)
	r := renderedAs(w.namespace, w.parse(strings.ReplaceAll(twoMaps, "k: v", `k: "${A}"`)))
	r.PostBuild = &flux.PostBuild{Values: map[string]string{"A": "v"}}
	c, err := cluster.New(unthrottled(server.Admin), "a test")
	w.must(err)
	environments, err := compareAll(w.Context(), c, gatehouse.All(), []*render.Rendering{r}, func(string, string) {})
	w.must(err)
	w.wantNone(environments[0])
}
