package render

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/manifest"
)

// kustomize builds the rendered environments of this repository to the same number of objects.
func TestKustomizeBuildsRenderedRepository(t *testing.T) {
	const root = ".."
	u, err := plan(t.Context(), root, Selection{All: true})
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	for _, e := range u.Environments {
		if manifest.HasErrors(e.Problems) {
			t.Fatal(e.Problems)
		}
		if diff := e.Plan.Diff(); diff != "" {
			t.Errorf("%s is not what rendering writes: make render\n%s", e.Name, diff)
		}
		objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "rendered", e.Name))
		if err != nil {
			t.Fatal(err)
		}
		if objects.Size() != e.Objects {
			t.Errorf("kustomize builds %d objects of %s, render %d", objects.Size(), e.Name, e.Objects)
		}
	}
}

// Without locks, as on some file systems, a repository can be read and not written.
func TestRLockWorksWithoutLocks(t *testing.T) {
	root := write(t, "-- environments/prod/kustomization.yaml --\n")
	repository, err := Open(root, gatehouse.All())
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	if err := os.RemoveAll(filepath.Join(root, "environments")); err != nil { // without it nothing locks
		t.Fatal(err)
	}
	if unlock, err := repository.RLock(t.Context()); err != nil {
		t.Error(err)
	} else {
		unlock()
	}
	if _, err := repository.Lock(t.Context()); err == nil {
		t.Error("locked what cannot be locked")
	}
}

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
	for name, test := range map[string]struct {
		files string
		want  []string
	}{
		"flux-instance":      {fleet + instance, []string{"./apps"}},
		"Kustomization":      {fleet + sync, []string{"./cluster"}},
		"own Kustomization":  {fleet + own + sync, []string{"./cluster", "./own"}},
		"apps alone":         {fleet, []string{"./gone", "./off", "apps/listed"}},
		"one in its own app": {fleet + sync + "-- apps/listed/self.yaml --\n" + strings.Split(strings.Replace(sync, "path: ./apps", "path: ./apps/listed", 1), "--\n")[1], []string{"./cluster"}},
	} {
		repository, err := Open(write(t, test.files), gatehouse.All())
		if err != nil {
			t.Fatal(err)
		}
		defer repository.Close()
		if got, err := repository.Environments(); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q: %v", name, got, test.want, err)
		}
	}
}
