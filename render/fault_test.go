package render

import (
	"fmt"
	"strings"
	"testing"

	"example.com/gatehouse/kind/gatehouse"
)

// deliveries are two environments. One of them has a delivery of each kind, each with an object that is refused.
const deliveries = `
-- environments/dev/kustomization.yaml --
resources: [a.yaml]
-- environments/dev/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: dev}, data: {a: 1}}
-- environments/prod/kustomization.yaml --
resources: [flux.yaml, argo.yaml, set.yaml, release.yaml, own.yaml]
helmCharts: [{name: chart, releaseName: chart, namespace: shop}]
-- environments/prod/own.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: own}, data: {a: 1}}
-- environments/prod/charts/chart/Chart.yaml --
{apiVersion: v2, name: chart, version: 1.0.0}
-- environments/prod/charts/chart/templates/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: chart}, data: {a: 1}}
-- environments/prod/flux.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux, namespace: flux-system}
spec: {interval: 1h, prune: true, path: apps/flux, sourceRef: {kind: GitRepository, name: flux-system}}
-- apps/flux/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: flux}, data: {a: 1}}
-- environments/prod/argo.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: argo, namespace: argocd}
spec:
  project: default
  source: {repoURL: 'https://example.com/r.git', path: apps/argo, targetRevision: main}
  destination: {server: 'https://kubernetes.default.svc', namespace: shop}
-- apps/argo/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: argo}, data: {a: 1}}
-- environments/prod/set.yaml --
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: set, namespace: argocd}
spec:
  generators: [{git: {repoURL: 'https://example.com/r.git', files: [{path: sets/*.yaml}]}}]
  template:
    metadata: {name: '{{name}}'}
    spec:
      project: default
      source: {repoURL: 'https://example.com/r.git', path: apps/set, targetRevision: main}
      destination: {server: 'https://kubernetes.default.svc', namespace: shop}
-- sets/a.yaml --
{name: set}
-- apps/set/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: set}, data: {a: 1}}
-- environments/prod/release.yaml --
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: release, namespace: shop}
spec:
  interval: 1h
  chart: {spec: {chart: charts/release, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}
-- charts/release/Chart.yaml --
{apiVersion: v2, name: release, version: 1.0.0}
-- charts/release/templates/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: release}, data: {a: 1}}
`

// A panic while a file is read for a delivery is a problem of that delivery, and one that no delivery has is a problem
// of its environment. All others are judged.
func TestAPanicIsAProblemOfItsDelivery(t *testing.T) {
	const all = "own chart flux argo set release"
	for file, test := range map[string]struct{ want, unjudged string }{
		"none":                            {},
		"apps/flux/a.yaml":                {"environments/prod/flux.yaml:1: Kustomization flux-system/flux: ", "flux"},
		"apps/argo/a.yaml":                {"environments/prod/argo.yaml:1: Application argocd/argo: ", "argo"},
		"apps/set/a.yaml":                 {"environments/prod/set.yaml:1: ApplicationSet argocd/set: ", "set"},
		"sets/a.yaml":                     {"environments/prod/set.yaml:1: ApplicationSet argocd/set: ", "set"},
		"charts/release/templates/a.yaml": {"environments/prod/release.yaml:4: HelmRelease shop/release: chart release: ", "release"},
		"environments/prod/charts/chart/templates/a.yaml": {"environments/prod/kustomization.yaml:2: chart chart: ", all},
		"environments/prod/own.yaml":                      {"environments/prod: ", all},
		"environments/prod/overrides":                     {"environments/prod: ", all},
	} {
		repository, err := Open(write(t, deliveries), gatehouse.All(), Options{Look: func(name string) {
			if name == "/"+file {
				panic("words of a panic")
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		u, err := NewUpdate(t.Context(), repository, Selection{All: true}, func(string, string) {})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(problemsOf(u), "\n")
		if test.want != "" {
			test.want += "is not judged: example.com/gatehouse/render.TestAPanicIsAProblemOfItsDelivery.func1 panics, a fault of Gatehouse: report it"
		}
		if !strings.Contains("\n"+got, "\n"+test.want) || strings.Contains(got, "words of") || strings.Count(got, " panics") != min(len(test.want), 1) {
			t.Errorf("%s: %s\nwant %s", file, got, test.want)
		}
		for _, name := range append(strings.Fields(all), "dev") {
			isJudged := strings.Contains(got, fmt.Sprintf("ConfigMap %s: data.a", name)) || strings.Contains(got, fmt.Sprintf("ConfigMap shop/%s", name))
			if want := !strings.Contains(" "+test.unjudged+" ", " "+name+" "); isJudged != want {
				t.Errorf("%s: %s is judged: %t, want %t\n%s", file, name, isJudged, want, got)
			}
		}
		repository.Close()
	}
}
