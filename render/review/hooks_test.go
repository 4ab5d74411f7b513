package review

import (
	"strings"
	"testing"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/test/changes"
)

// A hook runs at each upgrade, also if nothing of it changes.
func TestHooksRunAnyway(t *testing.T) {
	const hook = `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: ns, labels: {helm.sh/chart: a-1}, annotations: {helm.sh/hook: "post-install,post-upgrade"}}, spec: {template: {metadata: {labels: {helm.sh/chart: a-1}}, spec: {restartPolicy: Never, containers: [{name: c, image: "example.com/i:1.0.0", args: [it]}]}}}}`
	const upgrade = `"post-install,post-upgrade"`
	next := []string{"a-1", "a-2", "1.0.0", "1.0.1"}
	for name, test := range map[string]struct {
		by   string
		was  []string // edits of the hook before
		is   []string // and after
		want bool
	}{
		"labels and a version":        {"HelmRelease", nil, next, true},
		"of Argo CD":                  {"Application", nil, next, true},
		"a kustomization":             {"Kustomization", nil, next, false},
		"nobody":                      {"", nil, next, false},
		"another program":             {"HelmRelease", nil, append(next, "[it]", "[other]"), false},
		"another image":               {"HelmRelease", nil, []string{"example.com/i", "example.com/j"}, false},
		"no hook before":              {"HelmRelease", []string{"helm.sh/hook", "example.com/hook"}, next, false},
		"no hook after":               {"HelmRelease", nil, append(next, "helm.sh/hook", "example.com/hook"), false},
		"a hook of installations":     {"HelmRelease", []string{upgrade, "post-install"}, append(next, upgrade, "post-install"), false},
		"a hook that stays":           {"HelmRelease", []string{upgrade, upgrade + ", helm.sh/hook-delete-policy: hook-failed"}, append(next, upgrade, upgrade+", helm.sh/hook-delete-policy: hook-failed"), false},
		"a hook that goes before":     {"HelmRelease", []string{upgrade, upgrade + ", helm.sh/hook-delete-policy: 'before-hook-creation,hook-succeeded'"}, append(next, upgrade, upgrade+", helm.sh/hook-delete-policy: 'before-hook-creation,hook-succeeded'"), true},
		"a hook that goes before now": {"HelmRelease", nil, append(next, upgrade, upgrade+", helm.sh/hook-delete-policy: before-hook-creation"), false},
	} {
		edit := func(edits []string) string { return strings.NewReplacer(edits...).Replace(hook) }
		both := changes.Between(t, edit(test.was), edit(test.is))
		c := both.Changes[0]
		c.InstalledBy = manifest.ID{Kind: test.by, Name: "r", Namespace: "ns"}
		if got := runsAnyway(both, c); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
