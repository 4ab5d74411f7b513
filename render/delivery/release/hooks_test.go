package release

import (
	"testing"

	"example.com/gatehouse/render/delivery"
)

// helm-controller 1.6.2 passes hooks by all its post-renderers with postRenderStrategy: nohooks, also by its own.
func TestHooksBesidePostRenderersHaveNoMetadata(t *testing.T) {
	const all = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {helm.sh/hook: pre-install}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}"
	for _, keeps := range []bool{false, true} {
		r := Release{KeepsHooks: keeps, Origin: map[string]string{"origin": "web"}, Metadata: delivery.Metadata{Labels: map[string]string{"team": "a"}}}
		result := rendered{objects: objects(t, all)}
		if err := (Installer{}).postRender(r, &result); err != nil {
			t.Fatal(err)
		}
		labels := map[string]map[string]string{}
		for _, o := range result.objects {
			labels[o.GetName()] = o.GetLabels()
		}
		if hook := labels["a"]; keeps != (len(hook) == 0) || labels["b"]["origin"] != "web" || labels["b"]["team"] != "a" {
			t.Errorf("%t: %v", keeps, labels)
		}
	}
}
