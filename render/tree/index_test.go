package tree

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/types"
)

func TestIndexListsItsFilesForKustomizeAndForRender(t *testing.T) {
	names := []string{
		"%61ux/configmap-a.yaml", "%24%7ba%7d/pod-b.yaml", "_cluster/clusterrole-system%3aview.yaml", "-a/pod-a.yaml", "1/pod-a.yaml", "0x1/pod-1.yaml",
		"null/pod-a.yaml", "shop/configmap-" + strings.Repeat("long-", 60) + ".yaml", "shop/thing-%2d%20%23.yaml",
	}
	slices.Sort(names)
	index := Index{Kubernetes: "1.35", KeepsOrder: true}.format(names)
	var k types.Kustomization
	if err := k.Unmarshal(index); err != nil || !slices.Equal(k.Resources, names) || k.SortOptions == nil {
		t.Errorf("kustomize reads %q, %v", k.Resources, err)
	}
	if got := Listed(index); !slices.Equal(got, names) || KubernetesOf(index) != "1.35" {
		t.Errorf("render reads %q and Kubernetes %s", got, KubernetesOf(index))
	}
	if plain := "\n- _cluster/clusterrole-system%3aview.yaml\n"; !strings.Contains(string(index), plain) {
		t.Errorf("no line %q", plain)
	}
}

// Kustomize builds the environment without the files of deliveries, and render owns them as well.
func TestIndexListsTheFilesOfDeliveriesForRenderAlone(t *testing.T) {
	files := []string{
		"%61ux/configmap-a.yaml", "shop/kustomization-a/%61ux/b.yaml", "shop/kustomization-a/kustomization.yaml",
	}
	index := Index{}.format(files)
	var k types.Kustomization
	if err := k.Unmarshal(index); err != nil || !slices.Equal(k.Resources, files[:1]) {
		t.Errorf("kustomize reads %q, %v", k.Resources, err)
	}
	conflict := slices.Concat(index, []byte("<<<<<<< HEAD\n#- shop/kustomization-b/kustomization.yaml\n"))
	for name, content := range map[string][]byte{"index": index, "merge conflict": conflict} {
		if got := Listed(content); !slices.Equal(got[:3], files) || len(got) != 3+strings.Count(name, "merge") {
			t.Errorf("%s: render reads %q", name, got)
		}
	}
}

func TestListedReadsEachSpelling(t *testing.T) {
	for name, lines := range map[string]string{
		"flow":                 "resources: [a/b.yaml, '%61ux/c.yaml', d]\n",
		"comments":             "resources:\n  - a/b.yaml # the first\n  - \"%61ux/c.yaml\"\n",
		"merge conflict":       "resources:\n<<<<<<< HEAD\n- a/b.yaml\n=======\n- '%61ux/c.yaml'\n>>>>>>> main\n",
		"without quotes":       "resources:\n- a/b.yaml\n- %61ux/c.yaml\n",
		"line ends of Windows": "resources:\r\n- a/b.yaml\r\n- '%61ux/c.yaml'\r\n",
	} {
		if got := Listed([]byte(indexHeader + lines)); !slices.Equal(got, []string{"%61ux/c.yaml", "a/b.yaml"}) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// FuzzIndex checks that an index lists no paths outside its folder.
func FuzzIndex(f *testing.F) {
	f.Add("- shop/a.yaml\n- ../a.yaml\n- /a/b.yaml\n- a/../../b.yaml\n")
	f.Fuzz(func(t *testing.T, content string) {
		for name := range readIndex([]byte(content)) {
			if !filepath.IsLocal(name) || !strings.Contains(name, "/") {
				t.Errorf("accepts %q", name)
			}
		}
	})
}
