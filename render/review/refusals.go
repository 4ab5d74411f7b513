package review

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/render/review/known"
)

// sayRefused returns the effect of a change that the API server refuses.
func sayRefused(c compare.Change, errs field.ErrorList) kind.Effect {
	return kind.Effect{Type: effect.UpdateRefused,
		What: kind.Say("the API server refuses this change: %s", reason(errs)), Risk: remedy(c, errs[0].Field)}
}

// reason returns the API server's reason for a refusal, on one line and without values, which may be secret.
func reason(errs field.ErrorList) kind.Sentence {
	detail, _, _ := strings.Cut(errs[0].Detail, "\n")
	said := kind.Say("%s", fmt.Sprintf("%s: %s", errs[0].Field, detail))
	if len(errs) > 1 {
		said += kind.Say(" and %d more", len(errs)-1)
	}
	return said
}

// isForced reports whether a tool deletes and recreates an object if the API server refuses its change.
func isForced(c compare.Change) bool {
	return delivery.Find(compare.Settings(c, c.After), delivery.Forced, delivery.Recreated) != nil
}

// runsAnyway reports whether a changed Job is a hook that each upgrade of its release, or each sync, deletes and runs
// again, and whether all its changed fields are ordinary.
func runsAnyway(both *compare.Comparison, c compare.Change) bool {
	isHook := func(o *unstructured.Unstructured) bool {
		settings := compare.Settings(c, o)
		again := delivery.Find(settings, delivery.Recreated)
		if again == nil || delivery.Find(settings, delivery.Hooked, delivery.Ended) == nil {
			return false
		}
		return again.Tool == delivery.Argo || strings.Contains(again.Value, "-upgrade")
	}
	isUnknown := func(f compare.FieldChange) bool { return !known.Is(both, c, f) }
	isOfTool := c.InstalledBy.Kind == "HelmRelease" || c.InstalledBy.Kind == "Application"
	return isOfTool && c.Action() == compare.Changed && compare.KindOf(c.After) == "Job.batch" &&
		isHook(c.Before) && isHook(c.After) && !slices.ContainsFunc(c.Fields(), isUnknown)
}

// sayHook returns the effect of a change of a hook that runs anyway.
func sayHook(c compare.Change) kind.Effect {
	e := effect.OfFields(c, c.Fields(), nil)
	e.Type = kind.RunAtOnce
	e.What = "runs again, as a hook does at each upgrade or sync: " + e.What
	return e
}

// remedy describes the reaction of GitOps tools to a refused change, and a safe way to make the change.
func remedy(c compare.Change, field string) kind.Sentence {
	o := c.After
	var with kind.Sentence
	if crd.Is(o) {
		with = kind.Say(", and with it every %s of the cluster", crd.Kind(c.Before).Kind)
	}
	switch {
	case isForced(c):
		return "Flux or Argo CD deletes and recreates it" + with + ", because of its annotations or labels"
	case strings.HasPrefix(field, "status.storedVersions"):
		return "Flux and Argo CD fail to apply it: keep the version until no object is stored in it and " +
			"status.storedVersions lacks it"
	case with != "" && strings.HasPrefix(field, "spec."):
		return "Flux and Argo CD fail to apply it: it has to be deleted first" + with
	}
	switch o.GetKind() {
	case "ClusterRoleBinding", "ConfigMap", "DaemonSet", "Deployment", "Job", "Pod", "RoleBinding", "Secret":
		return "Flux and Argo CD fail to apply it: rename it to create a new one"
	}
	return "Flux and Argo CD fail to apply it"
}
