package render

import (
	"slices"
	"strings"
	"testing"
)

// A component with only patches has the same effect if kustomize gets the selected objects or all.
func TestOverrideOfSelectedObjectsEqualsOverrideOfAll(t *testing.T) {
	for name, test := range map[string]struct {
		patches string
		fails   bool
	}{
		"a kind":                        {`{target: {kind: Deployment}, patch: '[{"op": "add", "path": "/spec/minReadySeconds", "value": 5}]'}`, false},
		"a kind by a pattern":           {`{target: {kind: Deploy.*, name: s.*s}, patch: '[{"op": "add", "path": "/spec/minReadySeconds", "value": 5}]'}`, false},
		"a group":                       {`{target: {group: apps}, patch: '[{"op": "add", "path": "/spec/minReadySeconds", "value": 5}]'}`, false},
		"a label":                       {`{target: {labelSelector: cache.example.com/memcached=sessions}, patch: '[{"op": "add", "path": "/metadata/annotations/a", "value": "b"}]'}`, false},
		"a namespace":                   {`{target: {namespace: shop, kind: Service}, patch: '[{"op": "add", "path": "/metadata/annotations/a", "value": "b"}]'}`, false},
		"nothing":                       {`{target: {kind: Job}, patch: '[{"op": "add", "path": "/metadata/annotations/a", "value": "b"}]'}`, false},
		"an object":                     {`{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: sessions, namespace: shop}, spec: {minReadySeconds: 5}}'}`, false},
		"an object that is not there":   {`{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: none, namespace: shop}, spec: {minReadySeconds: 5}}'}`, true},
		"an object of another version":  {`{patch: '{apiVersion: apps/v2, kind: Deployment, metadata: {name: sessions, namespace: shop}, spec: {minReadySeconds: 5}}'}`, true},
		"the documents of a file":       {`{path: patch.yaml}`, false},
		"two patches of an object":      {`{target: {kind: Pod}, patch: '[{"op": "add", "path": "/metadata/annotations/a", "value": "b"}]'}, {target: {name: job}, patch: '[{"op": "add", "path": "/metadata/annotations/c", "value": "d"}]'}`, false},
		"not a patch":                   {`{patch: 'what?'}`, true},
		"a JSON patch without a target": {`{patch: '[{"op": "remove", "path": "/spec/replicas"}]'}`, true},
		"not a pattern":                 {`{target: {kind: '('}, patch: '[{"op": "remove", "path": "/spec"}]'}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			component := "patches: [" + test.patches + "]\n"
			selected, problems := renderWithOverrides(t, component)
			all, allProblems := renderWithOverrides(t, component+"resources: []\n") // an empty list counts as more than patches
			if test.fails != (len(problems) > 0) || !slices.Equal(problems, allProblems) {
				t.Errorf("problems %q, with everything %q", problems, allProblems)
			}
			equal(t, "rendered", strings.Replace(all, "resources: []\n", "", 1), selected)
		})
	}
}

// renderWithOverrides returns the files of a rendered environment, or its problems.
func renderWithOverrides(t *testing.T, component string) (rendered string, problems []string) {
	t.Helper()
	root := write(t, `
-- environments/prod/kustomization.yaml --
resources: [all.yaml]
namespace: shop
-- environments/prod/all.yaml --
{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: sessions}, spec: {size: 2}}
---
{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: catalog}}
---
{apiVersion: cnat.programming-kubernetes.info/v1alpha1, kind: At, metadata: {name: job}, spec: {schedule: "2027-01-01T00:00:00Z", command: "true"}}
-- environments/prod/overrides/patch.yaml --
{apiVersion: apps/v1, kind: Deployment, metadata: {name: sessions, namespace: shop}, spec: {minReadySeconds: 5}}
---
{apiVersion: v1, kind: Service, metadata: {name: catalog, namespace: shop}, spec: {publishNotReadyAddresses: true}}
-- environments/prod/overrides/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
`+component)
	problems = problemsOf(run(t, root))
	return snapshot(t, root), problems
}
