package review

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/pod-security-admission/api"

	"example.com/gatehouse/render/check"
	"example.com/gatehouse/render/diff"
	"example.com/gatehouse/render/object"
)

// guardedBy says what objects of a kind keep from happening.
var guardedBy = map[schema.GroupKind]Sentence{
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}:        "what it refused is let in",
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}: "what its policy refused is let in",
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy"}:          "what it changed comes in as it is",
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding"}:   "what its policy changed comes in as it is",
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}:   "what it refused is let in",
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:     "what it changed comes in as it is",
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:                               "traffic that it kept out is let through",
	{Group: "policy", Kind: "PodDisruptionBudget"}:                                    "a drain may stop all Pods at once",
	{Kind: "ResourceQuota"}: "nothing limits what its namespace takes",
	{Kind: "LimitRange"}:    "Pods may take more, and lose their defaults",
}

// guards are policies and limits that go, or change.
func (w *world) guards() (effects []Effect) {
	for _, c := range w.Changes {
		o := c.Object().Unstructured
		loss, isGuard := guardedBy[o.GroupVersionKind().GroupKind()]
		if !isGuard || c.Before == nil || w.isCovered(o) || w.refused[idOf(o)] { // a cache without one says so
			continue
		}
		e := Effect{Type: GuardRemoved, Object: idOf(o), What: "is removed", Risk: loss}
		if c.After != nil {
			if equality.Semantic.DeepEqual(content(c.Before), content(c.After)) {
				continue
			}
			e.Type, e.What, e.Risk = GuardChanged, "changes", say("see in the diff that it still guards: without it, %s", loss)
		}
		effects = append(effects, e)
	}
	return effects
}

// content is what an object is, but for its metadata.
func content(o *unstructured.Unstructured) map[string]any {
	content := maps.Clone(o.Object)
	delete(content, "metadata")
	return content
}

// podSecurity are Namespaces that let more Pods in, and Pods that may do more.
func (w *world) podSecurity() (effects []Effect) {
	for _, c := range w.Changes {
		o := c.Object().Unstructured
		if c.After == nil || w.refused[idOf(o)] {
			continue
		}
		e := privilegeEffect(c)
		if o.GroupVersionKind().GroupKind() == namespaceKind && c.Before != nil {
			e = levelEffect(c.Before, c.After)
		}
		if e.Type != "" {
			e.Object = idOf(o)
			effects = append(effects, e)
		}
	}
	return effects
}

// levelEffect is that of a Namespace that asks less of Pods than before.
func levelEffect(before, after *unstructured.Unstructured) Effect {
	level := func(o *unstructured.Unstructured) string {
		return cmp.Or(o.GetLabels()[api.EnforceLevelLabel], string(api.LevelPrivileged))
	}
	was, is := level(before), level(after)
	if api.CompareLevels(api.Level(was), api.Level(is)) <= 0 {
		return Effect{}
	}
	return Effect{Type: PodSecurityLowered, What: say("Pod Security: %s → %s", quoted(was), quoted(is)), Risk: "Pods that it refused are let in"}
}

// privilegeEffect is that of Pods that may do to their node what others may not.
func privilegeEffect(c diff.Change) Effect {
	fields := check.PrivilegedFields(object.Object{Unstructured: c.After})
	if c.Before != nil {
		before := check.PrivilegedFields(object.Object{Unstructured: c.Before})
		fields = slices.DeleteFunc(fields, func(f string) bool { return slices.Contains(before, f) })
	}
	if len(fields) == 0 {
		return Effect{}
	}
	return Effect{Type: PodPrivileged, What: say("sets %s", quotedList(fields)), Risk: "its Pods may reach beyond their containers (Pod Security baseline forbids it)"}
}
