package verdict_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"example.com/gatehouse/render/verdict/apiserver"
)

// The kinds of render are the stored kinds of the API server, with the same scope and resource.
func TestKindsAreServed(t *testing.T) {
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
			isStored := slices.Contains(resource.Verbs, "create") && slices.Contains(resource.Verbs, "patch") && !strings.Contains(resource.Name, "/")
			if !isStored || !apiserver.IsGroup(gvk.Group) {
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

// kubernetes returns the version of the API server.
func kubernetes(t *testing.T) apiserver.Version {
	t.Helper()
	version, err := apiserver.ParseVersion(server.Kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	return version
}
