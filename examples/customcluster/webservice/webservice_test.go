package webservice

import (
	"strings"
	"testing"

	v1 "example.com/customcluster/webservice/v1"
	"example.com/gatehouse/kindtest"
)

// manifest is a WebService with a spec.
func manifest(name, spec string) string {
	return "{apiVersion: platform.example.org/v1, kind: WebService, metadata: {name: " + name +
		", namespace: shop}, spec: " + spec + "}"
}

// The file tells kustomize about images and references.
func TestFilesAreUpToDate(t *testing.T) {
	kindtest.Golden(t, "webservice.kustomizeconfig.yaml", Kind.KustomizeConfig())
}

func TestExpandReturnsObjects(t *testing.T) {
	web := kindtest.Object[v1.WebService](t, Kind,
		manifest("web", "{image: registry.example.org/web:1.0, host: web.example.org, allowFrom: [front]}"))
	kindtest.Golden(t, "testdata/web.yaml", kindtest.Expand(t, Kind, web))
	web.Spec.Host = ""
	for _, o := range kindtest.Expand(t, Kind, web) {
		if o.GetKind() == "Ingress" {
			t.Error("there is an Ingress without a host")
		}
	}
}

// Rules of the schema, of the rendered objects and of the kind refuse specs, each with the field.
func TestSpecsAreRefused(t *testing.T) {
	for spec, want := range map[string]string{
		"{}":                                  "spec.image",
		"{image: a, minReplicas: 5}":          "minReplicas must not be more than maxReplicas",
		"{image: a, host: Web}":               "spec.host",
		"{image: a, allowFrom: [ok, not_ok]}": "spec.allowFrom[1]",
	} {
		if got := strings.Join(kindtest.Refusal(t, Kind, manifest("web", spec)), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", spec, got, want)
		}
	}
	long := kindtest.Refusal(t, Kind, manifest(strings.Repeat("a", 51), "{image: a}"))
	if !strings.Contains(strings.Join(long, "\n"), "at most 50 characters") {
		t.Errorf("a long name: %q", long)
	}
}
