package kustomize

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"example.com/gatehouse/render/manifest"
)

// configMaps returns a repository of ConfigMaps in one file, the last of which has a value.
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

func TestCacheBuildsOnlyPartsThatChanged(t *testing.T) {
	const objects = 4 * partSize
	cache := &Cache{}
	build := func(value string, cache *Cache) []manifest.Object {
		s := readSources(t, t.TempDir(), configMaps(objects, value))
		built, problems := FindWays(s, overlay).Build(cache)
		if len(problems) > 0 || len(built) != objects {
			t.Fatalf("%d objects, problems: %v", len(built), problems)
		}
		return built
	}
	for _, o := range build("first", cache) {
		o.SetName("changed by a later stage")
	}
	known := cache.byFolder[overlay].now
	got := build("second", cache)
	kept := 0
	for key := range cache.byFolder[overlay].now {
		if _, ok := known[key]; ok {
			kept++
		}
	}
	if len(known) != 4 || kept != 3 {
		t.Errorf("%d of %d parts are kept, want 3 of 4", kept, len(known))
	}
	s := readSources(t, t.TempDir(), configMaps(objects, "second"))
	if difference := newResult(s, build("second", nil), nil).compare(newResult(s, got, nil)); difference != "" {
		t.Error(difference)
	}
}
