package render

import (
	"strings"
	"testing"

	"example.com/gatehouse/apis/crds"
)

// `images:` changes the default image of the environment's own definition.
func TestImagesChangeDefaultOfDefinition(t *testing.T) {
	root := write(t, `
-- environments/prod/crd.yaml --
`+strings.Replace(string(crds.Memcached), "default: memcached:1.6.26-alpine3.19", "default: mirror/cache:2", 1)+`
-- environments/prod/kustomization.yaml --
resources: [crd.yaml, caches.yaml]
namespace: shop
images:
- {name: mirror/cache, newTag: "3"}
- {name: memcached, newTag: wrong}
-- environments/prod/caches.yaml --
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: default}
spec: {size: 2}
---
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: other}
spec: {image: "other:1"}
`)
	mustRun(t, root)
	rendered := snapshot(t, root)
	for _, want := range []string{"spec:\n  image: mirror/cache:3\n  size: 2\n", "image: mirror/cache:3\n        liveness", "spec:\n  image: other:1\n"} {
		if !strings.Contains(rendered, want) {
			t.Errorf("no %q", want)
		}
	}
	if _, all, _ := strings.Cut(rendered, "-- rendered/"); strings.Contains(all, "wrong") || strings.Contains(all, "{default}") {
		t.Error("an image that nobody asked for")
	}
}
