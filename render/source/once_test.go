package source

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source/charts"
)

// counted counts the times that a file is read.
type counted struct {
	Revision
	times map[string]int
}

func (c counted) ReadFile(name string) ([]byte, error) {
	c.times[name]++
	return c.Revision.ReadFile(name)
}

// Two environments on one base read it once, and each has all looks of its own reading.
func TestEnvironmentsShareTheReadingOfARevision(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"base/kustomization.yaml": "resources: [c.yaml]\n", "base/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
		"a/kustomization.yaml": "resources: [../base]\n", "b/kustomization.yaml": "resources: [../base]\nnamePrefix: b-\n"} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	read := func(revision Revision, folder string) (*Sources, *Looks, []string) {
		looks := &Looks{}
		files, noted := NewFileSystem(revision, dir, looks.Add).Noting()
		noCluster := func(*Kustomization, []manifest.Object) charts.Cluster { return charts.Cluster{} }
		s := Read(nil, nil, files, nil, noCluster, nil, folder)
		if manifest.HasErrors(s.Problems) {
			t.Fatal(s.Problems)
		}
		return s, looks, append(sortedLooks(noted), s.FS.FilesRead()...)
	}
	disk := counted{Disk(root, dir), map[string]int{}}
	revision := Once(disk)
	for _, folder := range []string{"/a", "/b"} {
		shared, looks, noted := read(revision, folder)
		_, ownLooks, own := read(Disk(root, dir), folder)
		if got, want := sortedLooks(looks), sortedLooks(ownLooks); !slices.Equal(got, want) {
			t.Errorf("%s looks at %q, want %q", folder, got, want)
		}
		if !slices.Equal(noted, own) {
			t.Errorf("%s notes %q, want %q", folder, noted, own)
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

func sortedLooks(l *Looks) (names []string) {
	for name := range l.paths {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
