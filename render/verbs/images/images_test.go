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
		return "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, spec: {initContainers: [{name: i, image: init:1}], containers: [{name: c, image: '" + image + "'}], volumes: [{name: v, image: {reference: '" + files + "'}}]}}"
	}
	const others = "\n---\n{apiVersion: example.org/v1, kind: Cluster, metadata: {name: c, namespace: ns}, spec: {image: 'db:1'}}" +
		"\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns}, data: {image: none}}" +
		"\n---\n{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: r, namespace: ns}, spec: {values: {image: none}}}"
	d := &compare.Diff{Environments: []compare.EnvironmentDiff{changes.Between(t, pod("web:1", "files:1")+others, pod("web:2", "files:1")+others)}}
	var got []string
	for _, image := range List(d) {
		got = append(got, fmt.Sprintf("%s %t %t %v", image.Image, image.IsOld, image.IsNew, image.Used))
	}
	want := []string{
		"db:1 false false [prod Cluster ns/c: spec.image]",
		"files:1 false false [prod Pod ns/p: spec.volumes[v].image.reference]",
		"init:1 false false [prod Pod ns/p: spec.initContainers[i].image]",
		"web:1 true false [prod Pod ns/p: spec.containers[c].image]",
		"web:2 false true [prod Pod ns/p: spec.containers[c].image]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}
