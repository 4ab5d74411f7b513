package tree

import (
	"strings"
	"testing"
)

func TestIndexStartsWithItsHeader(t *testing.T) {
	for content, want := range map[string]bool{
		indexHeader: true,
		strings.ReplaceAll(indexHeader, "\n", "\r\n"):        true,
		"<<<<<<< HEAD\n" + indexHeader:                       true,
		"<<<<<<< HEAD\nresources: []\n":                      false,
		"<<<<<<<HEAD\n" + indexHeader:                        false,
		" " + indexHeader:                                    false,
		"\ufeff" + indexHeader:                               false,
		"# mine\n" + indexHeader:                             false,
		"\n" + indexHeader:                                   false,
		strings.TrimSuffix(indexHeader, ".\n") + ", or do\n": false,
	} {
		if got := isIndex([]byte(content)); got != want {
			t.Errorf("%q is an index: %t, want %t", content, got, want)
		}
	}
}

// kustomize does not build a folder with two kustomizations.
func TestSecondKustomizationIsAnError(t *testing.T) {
	for name, content := range map[string]string{"kustomization.yml": "resources: []\n", "Kustomization": ""} {
		root := newRoot(t)
		run(t, root, before, -1)
		if err := root.WriteFile("rendered/prod/"+name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		p, problems := ReadPrevious(root, "prod").Plan(after, besideOf(after), Index{})
		p.Close()
		if len(problems) != 1 || problems[0].Message != "rendered/prod/"+name+" was not written by render: move it away" {
			t.Errorf("%s: %v", name, problems)
		}
		p, problems = ReadPrevious(root, "prod").Plan(nil, besideOf(nil), Index{})
		p.Close()
		if len(problems) > 0 {
			t.Errorf("%s, without an index: %v", name, problems)
		}
	}
}
