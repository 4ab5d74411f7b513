package source_test

import (
	"slices"
	"testing"

	"golang.org/x/tools/txtar"

	"example.com/gatehouse/test/sources"
)

// An artifact lacks Flux's own list of files, unless .sourceignore or spec.ignore names others.
func TestArtifactLacksIgnoredFiles(t *testing.T) {
	_, files := sources.Open(t, t.TempDir(), txtar.Parse([]byte(`
-- a/b.yaml --
-- a/.sops.yaml --
-- a/logo.png --
-- own/.sourceignore --
*.yaml
!kept.yaml
# a comment
-- own/kept.yaml --
-- own/b.yaml --
-- own/deep/.sourceignore --
/kept.yaml
-- own/deep/kept.yaml --
-- own/deep/more/kept.yaml --
`)).Files)
	for _, test := range []struct {
		folder, ignore string
		want           []string
	}{
		{"/a", "", []string{"./b.yaml"}},
		{"/a", "b.yaml", []string{"./.sops.yaml"}},
		{"/own", "", []string{"./deep/more/kept.yaml", "./kept.yaml"}},
		{"/own", "!/own/b.yaml", []string{"./b.yaml", "./deep/more/kept.yaml", "./kept.yaml"}},
	} {
		artifact := files.InArtifact(test.ignore)
		if got := artifact.Manifests(test.folder); !slices.Equal(got, test.want) {
			t.Errorf("%s without %q: %v, want %v", test.folder, test.ignore, got, test.want)
		}
		if artifact.Exists("/a/logo.png") == (test.ignore == "") {
			t.Errorf("%s without %q: a/logo.png", test.folder, test.ignore)
		}
	}
}
