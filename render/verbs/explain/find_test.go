package explain

import (
	"strings"
	"testing"

	"example.com/gatehouse/render/manifest"
)

// An object is asked for as in kubectl, and the error names objects that may be meant.
func TestFindTakesTheKindsAndNamesOfKubectl(t *testing.T) {
	var objects []manifest.Object
	for _, text := range []string{
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}}",
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: team}}",
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: worker, namespace: shop}}",
		"{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}}",
		"{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: web, namespace: shop}}",
		"{apiVersion: example.com/v1, kind: Fleet, metadata: {name: north, namespace: sea}}",
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: fleets.example.com}, spec: {group: example.com, names: {kind: Fleet, plural: fleets, shortNames: [fl]}}}",
	} {
		objects = append(objects, manifest.Object{Unstructured: parse(t, text)})
	}
	for _, test := range []struct{ kind, name, namespace, want string }{
		{"deployment", "worker", "", "Deployment shop/worker"},
		{"Deployments", "worker", "", "Deployment shop/worker"},
		{"deploy", "web", "team", "Deployment team/web"},
		{"deployments.apps", "worker", "", "Deployment shop/worker"},
		{"deployments.v1.apps", "worker", "", "Deployment shop/worker"},
		{"fl", "north", "", "Fleet sea/north"},
		{"services.serving.knative.dev", "web", "", "Service shop/web"},
		{"crd", "fleets.example.com", "", "CustomResourceDefinition fleets.example.com"},
		{"deploy", "web", "", "deploy/web matches several objects of prod: deployment.apps/web -n shop, deployment.apps/web -n team; add -n NAMESPACE"},
		{"svc", "web", "", "svc/web matches several objects of prod: service/web -n shop, service.serving.knative.dev/web -n shop"},
		{"deploy", "web", "sea", "deploy/web is not in namespace sea of prod: there is deployment.apps/web"},
		{"deploy", "work", "", "no deploy work in prod: did you mean deployment.apps/worker -n shop?"},
		{"deploy", "wrker", "", `no deploy wrker in prod: did you mean "worker"?`},
		{"deploys", "web", "", "no deploys web in prod"},
	} {
		q := Question{Environment: "prod", Kind: test.kind, Name: test.name, Namespace: test.namespace}
		found, err := kindQueryOf(test.kind, objects).find(q, objects)
		got := found.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%s %s of %q: %q, want %q", test.kind, test.name, test.namespace, got, test.want)
		}
	}
}

// A rendered file and a source file tell their environment, and other files none.
func TestEnvironmentOfIsInThePathOfAFile(t *testing.T) {
	for file, want := range map[string]string{
		"rendered/prod/shop/deployment-web.yaml": "prod",
		"environments/dev/kustomization.yaml":    "dev",
		"environments/base/web.yaml":             "",
		"apps/prod/web.yaml":                     "",
		"rendered/../environments/dev/web.yaml":  "dev",
	} {
		if got := EnvironmentOf(file, []string{"dev", "prod"}); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}
