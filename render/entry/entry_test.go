package entry

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"example.com/gatehouse/test/sources"
)

// fleet has a cluster, an app that it lists, one that is switched off, and one whose folder is gone.
const fleet = `
-- apps/kustomization.yaml --
resources: [listed]
-- apps/listed/kustomization.yaml --
resources: [ks.yaml]
-- apps/listed/ks.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: listed, namespace: flux-system}
spec: {path: ./apps/listed/app, sourceRef: {kind: GitRepository, name: flux-system}}
-- apps/listed/app/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: listed, namespace: default}}
-- off/ks.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: off, namespace: flux-system}
spec: {path: ./off/app, sourceRef: {kind: GitRepository, name: flux-system}}
-- off/app/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: off, namespace: default}}
-- gone/ks.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: gone, namespace: flux-system}
spec: {path: ./apps/gone, sourceRef: {kind: GitRepository, name: flux-system}}
`

func TestEntriesAreWhatClustersAreSyncedBy(t *testing.T) {
	const instance = `
-- apps/listed/app/release.yaml --
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: flux-instance, namespace: flux-system}
spec: {values: {instance: {sync: {path: apps}}}}
`
	const sync = `
-- cluster/sync.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {path: ./apps, sourceRef: {kind: GitRepository, name: flux-system}}
`
	const own = `
-- own/kustomization.yaml --
resources: [sync.yaml, ../off]
-- own/sync.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: own, namespace: flux-system}
spec: {path: ./own, sourceRef: {kind: GitRepository, name: flux-system}}
-- off/kustomization.yaml --
resources: [ks.yaml]
`
	const apps = `
-- argocd/apps.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec: {source: {path: apps/shop}}
-- apps/shop/kustomization.yaml --
resources: [c.yaml]
-- apps/shop/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: listed, namespace: default}}
`
	const overlays = `
-- shop/base/kustomization.yaml --
-- shop/prod/kustomization.yaml --
resources: [../base]
-- shop/test/kustomization.yaml --
resources: [../base]
-- shop/part/kustomization.yaml --
kind: Component
-- .hidden/kustomization.yaml --
`
	for name, test := range map[string]struct {
		files string
		want  []string
	}{
		"flux-instance":      {fleet + instance, []string{"./apps"}},
		"Kustomization":      {fleet + sync, []string{"./cluster"}},
		"own Kustomization":  {fleet + own + sync, []string{"./cluster", "./own"}},
		"an app of apps":     {apps, []string{"./argocd argocd/apps.yaml"}},
		"overlays":           {overlays, []string{"shop/prod", "shop/test"}},
		"nothing":            {"-- notes.txt --\n", nil},
		"apps alone":         {fleet, []string{"./apps", "./gone", "./off"}},
		"one in its own app": {fleet + sync + "-- apps/listed/self.yaml --\n" + strings.Split(strings.Replace(sync, "path: ./apps", "path: ./apps/listed", 1), "--\n")[1], []string{"./cluster"}},
	} {
		var got []string
		for _, e := range open(t, test.files).All() {
			got = append(got, strings.TrimSpace(e.Name+" "+strings.Join(e.Resources, " ")))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// A folder has the syncs that init names, and the clusters below it that it moves in.
func TestSyncsAndClustersOfAFolder(t *testing.T) {
	const cluster = `-- clusters/NAME/sync.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {path: ./clusters/NAME, sourceRef: {kind: GitRepository, name: flux-system}}
`
	const root = `-- root.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: root, namespace: argocd}
spec: {sources: [{chart: x}, {path: clusters/c/, directory: {recurse: true}}]}
-- rendered/root.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: root, namespace: argocd}
spec: {source: {path: clusters/c}}
`
	r := open(t, strings.ReplaceAll(cluster, "NAME", "a")+strings.ReplaceAll(cluster, "NAME", "b")+root)
	for folder, want := range map[string][]string{"clusters": {"clusters/a", "clusters/b"}, "clusters/a": {"clusters/a"},
		".": {"clusters/a", "clusters/b"}, "clusters/c": {}} {
		if got := r.Clusters(folder); !slices.Equal(got, want) {
			t.Errorf("clusters in %s: %q, want %q", folder, got, want)
		}
	}
	for folder, want := range map[string]string{"clusters/a": "[clusters/a/sync.yaml] false", "clusters/c": "[root.yaml] true",
		"clusters": "[] false"} {
		files, isDirectory := r.SyncsOf(folder)
		if got := fmt.Sprint(files, isDirectory); got != want {
			t.Errorf("syncs of %s: %s, want %s", folder, got, want)
		}
	}
}

// open returns the repository of an archive.
func open(t *testing.T, archive string) Repository {
	t.Helper()
	tree, files := sources.Open(t, t.TempDir(), txtar.Parse([]byte(archive)).Files)
	return Repository{Files: files, Tree: tree}
}
