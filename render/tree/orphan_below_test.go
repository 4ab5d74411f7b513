package tree

import "testing"

func TestFilesInHiddenFoldersAreNoOrphans(t *testing.T) {
	for name, want := range map[string]bool{
		"shop/a.yaml":    true,
		".a.yaml":        true,
		"a.txt":          true,
		"shop/README.md": false,
		".gitkeep":       false,
		".git/a.yaml":    false,
		"shop/.x/y/a":    false,
	} {
		if got := IsOrphan(name); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}
