package health

import (
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/kind/registry"
)

// Only a kind that is rendered to Pods needs a check of Pods, and only a gated one expressions of Flux.
func TestEachToolGetsTheChecksThatItNeeds(t *testing.T) {
	all := gatehouse.All()
	one := func(name string) *registry.Kinds {
		return &registry.Kinds{All: slices.DeleteFunc(slices.Clone(all.All), func(k kind.Kind) bool {
			return k.GVK().Kind != name
		})}
	}
	for name, test := range map[string]struct{ isPod, isGated bool }{"At": {true, true}, "Memcached": {}} {
		kinds := one(name)
		checks := ArgoCD(kinds)
		if len(checks) != 1 || checks[0].Kind.Kind != name || !strings.Contains(checks[0].Script, "Ready") {
			t.Errorf("%s: checks %v", name, checks)
		}
		if got := Pod(kinds) != ""; got != test.isPod {
			t.Errorf("%s: a check of Pods: %t", name, got)
		}
		if got := strings.Contains(Flux(kinds), "kind: Pod"); got != test.isGated {
			t.Errorf("%s: an expression of Flux for Pods: %t in %s", name, got, Flux(kinds))
		}
	}
}
