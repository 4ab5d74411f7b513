package rbac

import (
	"os"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/test/testkind"
)

func TestManifestIsInTheEnvironment(t *testing.T) {
	want, err := os.ReadFile("../../environments/base/gatehouse/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Manifest(gatehouse.All())
	if err != nil || string(got) != string(want) {
		t.Errorf("role.yaml is not up to date, make generate: %v\n%s", err, got)
	}
}

// Without a gate, a controller may change only a status. It may not read unobserved children.
func TestClusterRoleIsMinimal(t *testing.T) {
	kinds, err := registry.New(testkind.Kind, testkind.ConvoyKind)
	if err != nil {
		t.Fatal(err)
	}
	may := func(verb, group, resource string) bool {
		return slices.ContainsFunc(ClusterRole(kinds).Rules, func(rule rbacv1.PolicyRule) bool {
			return slices.Contains(rule.APIGroups, group) && slices.Contains(rule.Resources, resource) && slices.Contains(rule.Verbs, verb)
		})
	}
	for _, verb := range []string{"get", "list", "watch"} {
		for _, on := range [][2]string{{"", "pods"}, {"apps", "deployments"}, {"testing.example.com", "fleets"}, {"testing.example.com", "convoys"}} {
			if !may(verb, on[0], on[1]) {
				t.Errorf("may not %s %s", verb, on[1])
			}
		}
	}
	for _, rule := range ClusterRole(kinds).Rules {
		isStatus := slices.Equal(rule.APIGroups, []string{"testing.example.com"}) && len(rule.Resources) == 1 && (rule.Resources[0] == "fleets/status" || rule.Resources[0] == "convoys/status")
		isEvents := slices.Equal(rule.Resources, []string{"events"})
		if slices.Contains(rule.Verbs, "patch") && !isStatus && !isEvents {
			t.Errorf("may patch %v", rule.Resources)
		}
	}
	if may("get", "", "configmaps") {
		t.Error("may read ConfigMaps, which are not observed")
	}
}

// Child.Resource is for irregular plurals.
func TestClusterRoleHasIrregularPlurals(t *testing.T) {
	odd := testkind.Definition()
	odd.Children = []kind.Child{{GVK: schema.GroupVersionKind{Group: "sheep.example.com", Version: "v1", Kind: "Sheep"}, Resource: "sheep"}}
	kinds, err := registry.New(kind.Define(odd))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(ClusterRole(kinds).Rules, func(rule rbacv1.PolicyRule) bool { return slices.Equal(rule.Resources, []string{"sheep"}) }) {
		t.Error("may not read sheep")
	}
}

func TestResourceIsRegularPlural(t *testing.T) {
	for kind, want := range map[string]string{
		"Pod": "pods", "Ingress": "ingresses", "NetworkPolicy": "networkpolicies", "Gateway": "gateways",
		"Endpoints": "endpoints", "EndpointSlice": "endpointslices", "Mesh": "meshes", "StorageClass": "storageclasses",
	} {
		if got := resource(kind); got != want {
			t.Errorf("%s is %s, want %s", kind, got, want)
		}
	}
}
