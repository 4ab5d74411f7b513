package render

import (
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/kind/gatehouse"
)

// Each delivery of an environment is a node, with the files whose content it consumed and the reasons why its objects
// are not all known.
func TestDeliveriesSayWhatTheyConsumeAndWhatIsUnknown(t *testing.T) {
	const kustomization = `---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: NAME, namespace: flux-system}
spec: {interval: 10m, prune: true, path: PATH, sourceRef: {kind: GitRepository, name: SOURCE}}
`
	flux := func(name, path, source string) string {
		return strings.NewReplacer("NAME", name, "PATH", path, "SOURCE", source).Replace(kustomization)
	}
	root := write(t, "-- clusters/prod/sync.yaml --\n"+flux("flux-system", "./clusters/prod", "flux-system")+`---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: https://example.com/this.git}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: other, namespace: flux-system}
spec: {interval: 1m, url: https://example.com/other.git}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: api, namespace: flux-system}
spec:
  interval: 10m
  chart: {spec: {chart: ./charts/api, sourceRef: {kind: GitRepository, name: flux-system}}}
`+flux("shop", "./apps/shop", "flux-system")+flux("gone", "./apps/gone", "flux-system")+
		flux("foreign", "./deploy", "other")+flux("broken", "./apps/broken", "flux-system")+`
-- charts/api/Chart.yaml --
{apiVersion: v2, name: api, version: 1.0.0, dependencies: [{name: db, version: 1.0.0, repository: "https://example.com"}]}
-- apps/shop/kustomization.yaml --
resources: [shop.yaml, release.yaml]
-- apps/shop/shop.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: shop, namespace: shop}
-- apps/broken/kustomization.yaml --
resources: [missing.yaml]
-- apps/shop/release.yaml --
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: shop}
spec:
  interval: 10m
  chart: {spec: {chart: web, version: 1.0.0, sourceRef: {kind: HelmRepository, name: charts}}}
`)
	repository, err := Open(root, gatehouse.All(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	e := repository.Judge("clusters/prod", LoadOptions{})
	got := map[string]*Delivery{}
	for _, d := range e.root.all() {
		name := "entry"
		if !d.isEntry() {
			name = d.Object().GetName()
		}
		got[name] = d
	}
	for name, want := range map[string]struct {
		parent, unknown string // a part of the only reason
		consumed        []string
	}{
		"entry": {consumed: []string{"clusters/prod/sync.yaml"}},
		"shop": {parent: "entry", consumed: []string{"apps/shop/kustomization.yaml", "apps/shop/release.yaml",
			"apps/shop/shop.yaml"}},
		"gone":    {parent: "entry", unknown: "no such folder: apps/gone"},
		"foreign": {parent: "entry", unknown: "other repository: GitRepository flux-system/other"},
		"broken":  {parent: "entry", unknown: "missing.yaml", consumed: []string{"apps/broken/kustomization.yaml"}},
		"web":     {parent: "shop", unknown: "chart not here: chart web 1.0.0"},
		"api":     {parent: "entry", unknown: "chart not here: chart db 1.0.0", consumed: []string{"charts/api/Chart.yaml"}},
	} {
		d := got[name]
		switch {
		case d == nil:
			t.Errorf("%s is no node", name)
			continue
		case want.parent != "" && d.Parent != got[want.parent]:
			t.Errorf("%s is not below %s", name, want.parent)
		case want.unknown == "" && len(d.Unknown) > 0,
			want.unknown != "" && (len(d.Unknown) != 1 || !strings.Contains(d.Unknown[0], want.unknown)):
			t.Errorf("%s is unknown for %q, want %q", name, d.Unknown, want.unknown)
		}
		if consumed := d.Looks.Consumed(); !slices.Equal(consumed, want.consumed) {
			t.Errorf("%s consumes %q, want %q", name, consumed, want.consumed)
		}
	}
	if len(got) != 7 {
		t.Errorf("%d nodes", len(got))
	}
	const want = "1 cluster, 10 objects judged. Not judged: 3 Kustomizations (1 error, 1 no such folder, " +
		"1 other repository: add --fetch), 2 releases (2 charts not here: add --fetch)"
	if line := e.Coverage().String(); line != want {
		t.Errorf("coverage: %s", line)
	}
}

// An Application that brings itself is followed once, and each chart of a set that lacks others is counted.
func TestCoverageCountsTheReleasesOfASet(t *testing.T) {
	const chart = "-- apps/NAME/Chart.yaml --\n{apiVersion: v2, name: NAME, version: 1.0.0, dependencies: " +
		"[{name: lib, version: 2.0.0, repository: 'https://example.com'}, {name: NAME-db, version: 3.0.0, repository: 'https://example.com'}]}\n"
	root := write(t, `
-- argo/root.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: root}
spec:
  project: default
  source: {repoURL: https://example.com/this.git, path: argo}
  destination: {namespace: argocd, server: "https://kubernetes.default.svc"}
  syncPolicy: {automated: {prune: true}}
-- argo/set.yaml --
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: apps, namespace: argocd}
spec:
  goTemplate: true
  generators: [{git: {repoURL: https://example.com/this.git, revision: HEAD, directories: [{path: apps/*}]}}]
  template:
    metadata: {name: "{{ .path.basename }}"}
    spec:
      project: default
      source: {repoURL: https://example.com/this.git, path: "{{ .path.path }}"}
      destination: {namespace: apps, server: "https://kubernetes.default.svc"}
`+strings.ReplaceAll(chart, "NAME", "api")+strings.ReplaceAll(chart, "NAME", "web"))
	repository, err := Open(root, gatehouse.All(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	e := repository.Load("./argo", LoadOptions{})
	const want = "1 cluster, 5 objects judged. Not judged: 2 releases (3 charts not here: add --fetch)"
	if line := e.Coverage().String(); line != want || len(e.Problems) > 0 {
		t.Errorf("%s: %v", line, e.Problems)
	}
}

// A refused object, a remote base with its patch, and a chart that is not here hide nothing beside them.
func TestARefusedObjectHidesNoOther(t *testing.T) {
	root := write(t, `
-- clusters/prod/all.yaml --
apiVersion: v1
kind: Secret
metadata: {name: a, namespace: shop}
type: kubernetes.io/tls
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: fronted}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: frontend}}
  template: {metadata: {labels: {app: frontend}}, spec: {containers: [{name: web, image: web}]}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 10m, prune: true, path: ./clusters/prod, sourceRef: {kind: GitRepository, name: flux-system}}
-- clusters/remote/kustomization.yaml --
resources: ["https://example.com/all.yaml", apps]
-- clusters/remote/apps/kustomization.yaml --
resources: ["https://example.com/all.yaml"]
patches:
- patch: |
    {apiVersion: v1, kind: ConfigMap, metadata: {name: absent}, data: {a: b}}
- patch: |
    {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: b}}
helmCharts: [{name: web, version: 1.0.0, releaseName: web, repo: "https://example.com"}]
configMapGenerator: [{name: web, options: {disableNameSuffixHash: true}}]
-- clusters/altered/kustomization.yaml --
resources: [../remote/apps]
components: ["https://example.com/component"]
`)
	repository, err := Open(root, gatehouse.All(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	var found []string
	for _, p := range repository.Load("clusters/prod", LoadOptions{}).Problems {
		found = append(found, p.String())
	}
	if text := strings.Join(found, "\n"); !strings.Contains(text, "all.yaml:1: Secret shop/a: data") ||
		!strings.Contains(text, "warning: Service shop/web: spec.selector.app") {
		t.Errorf("found %s", text)
	}
	remote := repository.Load("clusters/remote", LoadOptions{})
	const want = "1 folder, 1 object judged. Not judged: 1 folder (1 chart not here: add --fetch, " +
		"1 remote base: add --fetch)"
	if line := remote.Coverage().String(); len(remote.Problems) > 0 || line != want ||
		remote.Judged()[0].Object["data"] == nil {
		t.Errorf("%s: %v", line, remote.Problems)
	}
	altered := repository.Load("clusters/altered", LoadOptions{})
	if len(altered.Judged()) > 0 || len(altered.Problems) > 0 {
		t.Errorf("a remote component may alter all objects: %v", altered.Problems)
	}
}
