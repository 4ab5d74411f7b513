package compare_test

import (
	"testing"

	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/test/changes"
)

// TestLiveIsTheObjectAfterASync has settings of GitOps tools that keep an object, or leave it as it is.
func TestLiveIsTheObjectAfterASync(t *testing.T) {
	object := func(annotations, value string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {" + annotations + "}}\ndata: {k: " + value + "}\n"
	}
	for name, test := range map[string]struct{ before, after, want string }{
		"changed":                  {object("", "old"), object("", "new"), "new"},
		"removed":                  {object("", "old"), "", ""},
		"kept by Flux":             {object("kustomize.toolkit.fluxcd.io/prune: disabled", "old"), "", "old"},
		"kept by Argo CD":          {object("argocd.argoproj.io/sync-options: Prune=false", "old"), "", "old"},
		"ignored by Flux":          {object("", "old"), object("kustomize.toolkit.fluxcd.io/reconcile: disabled", "new"), "old"},
		"created once":             {object("kustomize.toolkit.fluxcd.io/ssa: IfNotPresent", "old"), object("kustomize.toolkit.fluxcd.io/ssa: IfNotPresent", "new"), "old"},
		"created once, and is new": {"", object("kustomize.toolkit.fluxcd.io/ssa: IfNotPresent", "new"), "new"},
	} {
		e := changes.Between(t, test.before, test.after)
		got := ""
		if live := compare.Live(e.Changes[0]); live != nil {
			got = compare.Text(live, "data", "k")
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestRefusedUpdatesAreKnown has updates that the API server refuses, and others.
func TestRefusedUpdatesAreKnown(t *testing.T) {
	service := func(spec string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}], " + spec + "}\n"
	}
	for name, test := range map[string]struct {
		before, after string
		isRefused     bool
	}{
		"an immutable field":     {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nimmutable: true\ndata: {k: v}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nimmutable: true\ndata: {k: w}\n", true},
		"another value":          {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: w}\n", false},
		"a fixed address":        {service("clusterIP: 10.0.0.1"), service("clusterIP: 10.0.0.2"), true},
		"an object of no change": {service("clusterIP: 10.0.0.1"), service("clusterIP: 10.0.0.1, sessionAffinity: ClientIP"), false},
	} {
		e := changes.Between(t, test.before, test.after)
		got := len(e.Changes) > 0 && len(e.Refused(e.Changes[0].After)) > 0
		if got != test.isRefused {
			t.Errorf("%s: refused is %t", name, got)
		}
	}
}

// TestUsesNamesThePodsOfAConfigMap has references of Pods; one is optional.
func TestUsesNamesThePodsOfAConfigMap(t *testing.T) {
	const pod = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers:
  - name: web
    image: web
    envFrom: [{configMapRef: {name: env}}, {secretRef: {name: key, optional: true}}]
  volumes: [{name: all, projected: {sources: [{configMap: {name: files}}]}}]
  imagePullSecrets: [{name: pull}]
`
	w := changes.Between(t, "", pod)
	before, after := w.Uses()
	if len(before) > 0 {
		t.Errorf("before: %v", before)
	}
	user := manifest.ID{Kind: "Pod", Namespace: "shop", Name: "web"}
	for id, isRequired := range map[manifest.ID]bool{
		{Kind: "ConfigMap", Namespace: "shop", Name: "env"}: true, {Kind: "ConfigMap", Namespace: "shop", Name: "files"}: true,
		{Kind: "Secret", Namespace: "shop", Name: "key"}: false,
	} {
		if got, ok := after[id][user]; !ok || got != isRequired {
			t.Errorf("%s: got %t, %t, want %t", id, got, ok, isRequired)
		}
	}
	if len(after) != 3 {
		t.Errorf("after: %v", after)
	}
}

// TestComparisonStaysAsItIsMade asks a comparison, and then another one of the same objects for which a definition is
// known as well.
func TestComparisonStaysAsItIsMade(t *testing.T) {
	const fixed = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nimmutable: true\n"
	definition := changes.Between(t, fixed+"data: {k: v}\n", fixed+"data: {k: w}\n").Changes[0]
	alone := changes.Between(t, "", "")
	isRefused := func(e *compare.Comparison) bool { return len(e.Refused(definition.After)) > 0 }
	if isRefused(alone) {
		t.Error("a change that is in no comparison is refused")
	}
	if with := alone.With(compare.Facts{Definitions: []compare.Change{definition}}); !isRefused(with) {
		t.Error("the change of a definition is not refused")
	}
	if isRefused(alone) || alone.Differs() {
		t.Error("the first comparison is another one")
	}
}
