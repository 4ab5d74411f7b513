package source_test

import (
	"maps"
	"slices"
	"testing"

	"golang.org/x/tools/txtar"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/charts"
	"example.com/gatehouse/test/sources"
)

// counted counts the times that a file is read.
type counted struct {
	source.Revision
	times map[string]int
}

func (c counted) ReadFile(name string) ([]byte, error) {
	c.times[name]++
	return c.Revision.ReadFile(name)
}

// Two environments on one base read it once, and each has all looks of its own reading.
func TestEnvironmentsShareTheReadingOfARevision(t *testing.T) {
	dir := t.TempDir()
	tree, _ := sources.Open(t, dir, txtar.Parse([]byte(`
-- base/kustomization.yaml --
resources: [c.yaml]
-- base/c.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
-- a/kustomization.yaml --
resources: [../base]
-- b/kustomization.yaml --
resources: [../base]
namePrefix: b-
`)).Files)
	read := func(revision source.Revision, folder string) (s *source.Sources, looked []string, noted *source.Looks) {
		looks := map[string]bool{}
		files, noted := source.NewFileSystem(revision, dir, func(name string) { looks[source.Relative(name)] = true }).Noting()
		noCluster := func(*source.Kustomization, []manifest.Object) charts.Cluster { return charts.Cluster{} }
		s = source.Read(nil, nil, files, nil, noCluster, nil, folder)
		if manifest.HasErrors(s.Problems) {
			t.Fatal(s.Problems)
		}
		return s, slices.Sorted(maps.Keys(looks)), noted
	}
	disk := counted{tree, map[string]int{}}
	revision := source.Once(disk)
	for _, folder := range []string{"/a", "/b"} {
		shared, looked, noted := read(revision, folder)
		own, want, alone := read(tree, folder)
		if !slices.Equal(looked, want) {
			t.Errorf("%s looks at %q, want %q", folder, looked, want)
		}
		for _, name := range want {
			if noted.Has(name) != alone.Has(name) {
				t.Errorf("%s notes %s: %t", folder, name, noted.Has(name))
			}
		}
		if got, want := shared.FS.FilesRead(), own.FS.FilesRead(); !slices.Equal(got, want) {
			t.Errorf("%s reads %q, want %q", folder, got, want)
		}
		if shared.Kustomizations["/base"] == nil || shared.Kustomizations[folder] == nil {
			t.Errorf("%s has kustomizations %v", folder, shared.Kustomizations)
		}
	}
	for _, name := range []string{"base/kustomization.yaml", "base/c.yaml", "a/kustomization.yaml"} {
		if n := disk.times[name]; n != 1 {
			t.Errorf("%s is read %d times", name, n)
		}
	}
}
