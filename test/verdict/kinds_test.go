package verdict_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"example.com/gatehouse/render/verdict/apiserver"
)

// TestKinds: render knows the kinds of objects that the API server keeps, and no others, and
// which of them are in namespaces.
func TestKinds(t *testing.T) {
	_, lists, err := discovery.NewDiscoveryClientForConfigOrDie(server.Admin).ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	served := map[schema.GroupVersionKind]bool{}
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			gvk := group.WithKind(resource.Kind)
			isKept := slices.Contains(resource.Verbs, "create") && slices.Contains(resource.Verbs, "patch") && !strings.Contains(resource.Name, "/")
			if !isKept || !apiserver.IsGroup(gvk.Group) {
				continue
			}
			served[gvk] = true
			kind, known := kubernetes(t).Lookup(gvk)
			if !known || kind.IsNamespaced() != resource.Namespaced || kind.Resource() != group.WithResource(resource.Name) {
				t.Errorf("%s is served, namespaced: %t, as %s: known: %t", gvk, resource.Namespaced, resource.Name, known)
			}
		}
	}
	for _, kind := range kubernetes(t).Kinds() {
		if !served[kind.GroupVersionKind] {
			t.Errorf("%s is not served", kind.GroupVersionKind)
		}
	}
}

// kubernetes returns the version of the server.
func kubernetes(t *testing.T) apiserver.Version {
	t.Helper()
	version, err := apiserver.ParseVersion(server.Kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	return version
}
