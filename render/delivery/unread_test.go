package delivery

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestFindUnread(t *testing.T) {
	for _, test := range []struct{ key, value, want string }{
		{flux + "prune", "false", "[Flux: false: disabled]"},
		{flux + "force", "True", "[Flux: True: enabled]"},
		{flux + "reconcile", "off", "[Flux: off: disabled or enabled]"},
		{flux + "substitute", "disable", "[Flux: disable: disabled]"},
		{flux + "prune", "Disabled", "[]"},
		{flux + "ssa", "merge", "[]"},
		{flux + "ssa", "Ignored", "[Flux: Ignored: Ignore]"},
		{flux + "prune", "${PRUNE}", "[]"},
		{flux + "prunes", "disabled", "[Flux: " + flux + "prunes: " + flux + "prune]"},
		{flux + "name", "web", "[]"},
		{syncOptions, "Prune=False, Replaced=true,SkipDryRunOnMissingResource", "[Argo CD: Prune=False: Prune=false " +
			"Argo CD: Replaced=true: Replace=true Argo CD: SkipDryRunOnMissingResource: SkipDryRunOnMissingResource=true]"},
		{syncOptions, "Prune=confirm,Delete=false,Later=thing,", "[]"},
		{syncWave, "-5", "[]"},
		{syncWave, "1.5", "[Argo CD: 1.5: a whole number]"},
		{ArgoHook, "PreSync,PostDelete,presync", "[Argo CD: presync: PreSync]"},
		{argoHookDeleted, "HookSucceded", "[Argo CD: HookSucceded: HookSucceeded]"},
		{argo + "sync-option", "Prune=false", "[Argo CD: " + argo + "sync-option: " + syncOptions + "]"},
		{argo + "tracking-id", "web", "[]"},
		{compareOptions, "IgnoreExtraneous", "[]"},
		{"example.com/prune", "false", "[]"},
	} {
		o := &unstructured.Unstructured{}
		o.SetAnnotations(map[string]string{test.key: test.value})
		got := []string{}
		for _, u := range FindUnread(o) {
			got = append(got, fmt.Sprintf("%s: %s: %s", u.Tool, u.Text, u.Meant))
		}
		if fmt.Sprint(got) != test.want {
			t.Errorf("%s: %s: %v, want %s", test.key, test.value, got, test.want)
		}
	}
	o := &unstructured.Unstructured{Object: map[string]any{"kind": "Application", "spec": map[string]any{
		"syncPolicy": map[string]any{"syncOptions": []any{"CreateNamespace=true", "createNamespace=true"}}}}}
	o.SetLabels(map[string]string{flux + "prune": "no", syncWave: "first"})
	got := FindUnread(o)
	want := `[{Flux [metadata labels kustomize.toolkit.fluxcd.io/prune] no disabled or enabled} ` +
		`{Argo CD [spec syncPolicy syncOptions [1]] createNamespace=true CreateNamespace=true}]`
	if fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}
