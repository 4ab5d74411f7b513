package guards

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/pod-security-admission/api"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
)

// ReviewNamespace reviews Namespaces: removal deletes all objects inside, and labels decide which policies
// apply.
func ReviewNamespace(w *world.World, c diff.Change) (effects []kind.Effect) {
	switch {
	case c.After == nil:
		inside := kind.Count(int64(w.Removed[c.Before.GetName()]), "object")
		return []kind.Effect{{Type: effect.NamespaceRemoved, What: "is removed", Risk: kind.Say("everything in it is deleted: %s of this repository, and all others", inside)}}
	case c.Before == nil:
		return nil
	}
	was, is := podSecurity(c.Before), podSecurity(c.After)
	for _, mode := range []struct {
		name    kind.Sentence
		was, is api.LevelVersion
		label   string
		risk    kind.Sentence
	}{
		{"", was.Enforce, is.Enforce, api.EnforceLevelLabel, "Pods that it refused are let in"},
		{" audit", was.Audit, is.Audit, api.AuditLevelLabel, "violations are no longer audited"},
		{" warn", was.Warn, is.Warn, api.WarnLevelLabel, "nothing warns of violations any more"},
	} {
		from, to := mode.was.String(), mode.is.String()
		switch levels := api.CompareLevels(mode.was.Level, mode.is.Level); {
		case c.Before.GetLabels()[mode.label] == "", levels < 0:
			continue
		case levels > 0:
			from, to = string(mode.was.Level), string(mode.is.Level)
		case mode.is.Level == api.LevelPrivileged, !mode.is.Older(mode.was.Version):
			continue
		}
		effects = append(effects, kind.Effect{Type: effect.PodSecurityLowered, What: "Pod Security" + mode.name + kind.Say(": %s → %s", from, to), Risk: mode.risk})
	}
	others := slices.DeleteFunc(changedKeys(c.Before.GetLabels(), c.After.GetLabels()), func(key string) bool {
		return strings.HasPrefix(key, "pod-security.kubernetes.io/") || strings.Contains(key, "/") && harmless.MatchString(key)
	})
	if len(others) > 0 {
		effects = append(effects, kind.Effect{Type: effect.GuardChanged, What: "changes the labels " + effect.Quote(others), Risk: "policies and webhooks select Namespaces by their labels: they may no longer apply to it, or allow it more"})
	}
	return effects
}

// podSecurity returns the policy in the labels of a Namespace. A missing label stands for privileged.
func podSecurity(namespace *unstructured.Unstructured) api.Policy {
	privileged := api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()}
	p, _ := api.PolicyToEvaluate(namespace.GetLabels(), api.Policy{Enforce: privileged, Audit: privileged, Warn: privileged})
	return p
}
