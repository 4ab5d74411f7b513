package images

import (
	"fmt"
	"slices"
	"testing"

	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/test/changes"
)

func TestListNamesImagesOfAllPlaces(t *testing.T) {
	pod := func(image, files string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, spec: {initContainers: [{name: i, image: init:1}], ephemeralContainers: [{name: e, image: debug:1}], containers: [{name: c, image: '" + image + "'}], volumes: [{name: v, image: {reference: '" + files + "'}}]}}"
	}
	const others = "\n---\n{apiVersion: example.org/v1, kind: Cluster, metadata: {name: c, namespace: ns}, spec: {image: 'db:1'}}" +
		"\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns}, data: {image: none}}" +
		"\n---\n{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: r, namespace: ns}, spec: {chart: {spec: {chart: podinfo, version: '"
	const rest = "', sourceRef: {kind: HelmRepository, name: h}}}, values: {image: none}}}" +
		"\n---\n{apiVersion: source.toolkit.fluxcd.io/v1, kind: HelmRepository, metadata: {name: h, namespace: ns}, spec: {url: 'https://charts.example.com'}}"
	d := &compare.Diff{Base: "main", Environments: []*compare.Comparison{changes.Between(t, pod("web:1", "files:1")+others+"6.1.0"+rest, pod("web:2", "files:1")+others+"6.2.0"+rest)}}
	var got []string
	images, charts := List(d)
	for _, image := range images {
		for _, p := range image.Used {
			got = append(got, fmt.Sprintf("%s %t %t [%s %s: %s]", image.Image, image.IsOld, image.IsNew, p.Environment, p.Object, p.Field))
		}
	}
	for _, c := range charts {
		got = append(got, fmt.Sprintf("%s %s %s %t %t [%s]", c.Name, c.Version, c.Repository, c.IsOld, c.IsNew, c.Used[0].Object))
	}
	want := []string{
		"db:1 false false [prod Cluster ns/c: spec.image]",
		"debug:1 false false [prod Pod ns/p: spec.ephemeralContainers[e].image]",
		"files:1 false false [prod Pod ns/p: spec.volumes[v].image.reference]",
		"init:1 false false [prod Pod ns/p: spec.initContainers[i].image]",
		"web:1 true false [prod Pod ns/p: spec.containers[c].image]",
		"web:2 false true [prod Pod ns/p: spec.containers[c].image]",
		"podinfo 6.1.0 https://charts.example.com true false [HelmRelease ns/r]",
		"podinfo 6.2.0 https://charts.example.com false true [HelmRelease ns/r]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}
