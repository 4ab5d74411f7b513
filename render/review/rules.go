package review

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/definitions"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/render/review/pods"
)

// rule returns the effects of a change of an object. The review drops effects without a type.
type rule func(both *compare.Comparison, c compare.Change) []kind.Effect

// rules maps kinds, with their group, to their rules.
var rules = map[string]rule{
	"CronJob.batch":         pods.ReviewCronJob,
	"DaemonSet.apps":        pods.ReviewWorkload,
	"Deployment.apps":       pods.ReviewWorkload,
	"Job.batch":             pods.ReviewRun,
	"Pod":                   pods.ReviewRun,
	"PodTemplate":           pods.ReviewRun,
	"ReplicaSet.apps":       pods.ReviewWorkload,
	"ReplicationController": pods.ReviewWorkload,
	"StatefulSet.apps":      pods.ReviewWorkload,

	"CustomResourceDefinition.apiextensions.k8s.io": reviewDefinition,
	"ConfigMap": pods.ReviewConfig,
	"Secret":    pods.ReviewConfig,
}

// coveredTypes are the effects on rendered objects that the effect on the source object replaces.
var coveredTypes = []string{
	effect.WorkloadAdded, effect.WorkloadRemoved, effect.WorkloadRolled, effect.WorkloadScaled,
	kind.RunAtOnce, kind.RunCanceled, kind.RunPlanned, kind.RunSuspended,
}

// review returns the effects of a change of an object, by the rule of its kind.
func review(both *compare.Comparison, c compare.Change) (effects []kind.Effect) {
	o := c.Object().Unstructured
	if errs := both.Refused(o); len(errs) > 0 {
		if runsAnyway(both, c) {
			return []kind.Effect{sayHook(c)}
		}
		effects = []kind.Effect{sayRefused(c, errs)}
		if isForced(c) {
			effects = append(effects, ruleOf(o)(both, compare.Change{After: c.After})...)
		}
		for i := range effects {
			effects[i].Fields = nil // they are of the change
		}
		return effects
	}
	isCovered := both.IsCovered(o)
	if c.After == nil {
		if both.IsGone(o.GetNamespace()) {
			return nil // covered by the effect on its Namespace
		}
		if by := compare.KeptBy(c); by != nil && !isCovered {
			return []kind.Effect{sayKept(*by)}
		}
	}
	if by := compare.LeftBy(c); by != nil && !isCovered {
		return append(reviewTreatments(c), sayLeft(*by, c))
	}
	effects = slices.DeleteFunc(ruleOf(o)(both, c), func(e kind.Effect) bool {
		return e.Type == "" || isCovered && slices.Contains(coveredTypes, e.Type)
	})
	if errs := both.Unapplied(c); len(errs) > 0 {
		effects = append(effects, kind.Effect{Type: effect.ObjectRefused,
			What: kind.Say("server-side apply refuses it: %s", reason(errs)),
			Risk: "Flux fails to apply it, and other tools where they use server-side apply"})
	}
	return append(effects, reviewTreatments(c)...)
}

func ruleOf(o *unstructured.Unstructured) rule {
	if rule := rules[compare.KindOf(o)]; rule != nil {
		return rule
	}
	return pods.ReviewCustom
}

// reviewDefinition reviews CustomResourceDefinitions. A kind may review its own.
func reviewDefinition(both *compare.Comparison, c compare.Change) []kind.Effect {
	if c.Before == nil {
		return nil
	}
	effects := definitions.Review(both, c)
	defined := crd.Kind(c.Object().Unstructured)
	if k := both.SourceKind(manifest.ID{Group: defined.Group, Kind: defined.Kind}); k != nil && c.After != nil {
		effects = append(effects, orUnknown(registry.ReviewCRD(k, c.Before, c.After))...)
	}
	return effects
}

// reviewValues returns the effect of variables in changed fields whose values only the cluster has. Elsewhere in an
// object they have the values that they had.
func reviewValues(both *compare.Comparison, c compare.Change) []effect.Effect {
	if c.After == nil || both.PostBuild == nil || both.PostBuild.Values != nil {
		return nil
	}
	names := both.PostBuild.Variables(c.Object())
	wasSet := c.Before != nil && both.PostBuild.Substitutes(manifest.Object{Unstructured: c.Before})
	if wasSet && !manifest.IsSecret(c.After) { // whose values are masked
		var changed []any
		for _, f := range c.Fields() {
			if f.After != nil {
				changed = append(changed, f.Path, *f.After)
			}
		}
		names = flux.VariablesIn(changed)
	}
	if len(names) == 0 {
		return nil
	}
	what := kind.Say("has %s of %s, which Flux puts in place", kind.Count(int64(len(names)), "variable"),
		effect.Quote(names))
	return effect.Of(compare.IDOf(c.After), kind.Effect{Type: effect.ValuesUnknown, What: what,
		Risk: "their values come from the cluster: no review shows what runs"})
}

// reviewUnread returns the effects of values of charts that no template reads any more, or none that runs.
func reviewUnread(unread []compare.Unread) (effects []effect.Effect) {
	for _, u := range unread {
		if len(u.Values) > 0 {
			effects = append(effects, effect.Of(u.Object, kind.Effect{Type: effect.ValuesUnread,
				What: kind.Say("sets %s without effect", kind.Count(int64(len(u.Values)), "value")),
				Risk: kind.Say("no template of chart %s reads %s", u.Chart, effect.Quote(u.Values))})...)
		}
		if len(u.Idle) > 0 {
			effects = append(effects, effect.Of(u.Object, kind.Effect{Type: effect.ValuesUnread,
				What: kind.Say("no template of chart %s that runs reads %s", u.Chart, effect.Quote(u.Idle))})...)
		}
	}
	return effects
}
