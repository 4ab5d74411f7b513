package review

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/pod-security-admission/api"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/diff"
)

// reviewNamespace returns the rule of Namespaces: all that is in one goes with it, and its labels say
// which Pods it lets in.
func reviewNamespace(w *world, c diff.Change) []kind.Effect {
	level := func(o *unstructured.Unstructured) string {
		return cmp.Or(o.GetLabels()[api.EnforceLevelLabel], string(api.LevelPrivileged))
	}
	switch {
	case c.After == nil:
		inside := kind.Count(int64(w.removed[c.Before.GetName()]), "object")
		return []kind.Effect{{Type: NamespaceRemoved, What: "is removed", Risk: kind.Say("everything in it is deleted: %s of this repository, and whatever else there is", inside)}}
	case c.Before == nil || api.CompareLevels(api.Level(level(c.Before)), api.Level(level(c.After))) <= 0:
		return nil
	}
	return []kind.Effect{{Type: PodSecurityLowered, What: kind.Say("Pod Security: %s → %s", level(c.Before), level(c.After)), Risk: "Pods that it refused are let in"}}
}

// keptBy returns the annotation or label by which a GitOps tool does not prune an object; empty
// where there is none.
func keptBy(o *unstructured.Unstructured) string {
	const flux = "kustomize.toolkit.fluxcd.io/prune"
	switch {
	case o.GetAnnotations()[flux] == "disabled" || o.GetLabels()[flux] == "disabled":
		return flux
	case hasSyncOption(o, "Prune=false"):
		return syncOptions
	}
	return ""
}

const syncOptions = "argocd.argoproj.io/sync-options"

// hasSyncOption reports whether Argo CD syncs an object with an option.
func hasSyncOption(o *unstructured.Unstructured, option string) bool {
	options := strings.FieldsFunc(o.GetAnnotations()[syncOptions], func(r rune) bool { return r == ',' || r == ' ' })
	return slices.Contains(options, option)
}
