package review

import (
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/verbs/diff"
)

// rule returns what a change of an object does to a cluster.
type rule func(w *world, c diff.Change) []kind.Effect

// rules has the rule of each kind, by the kind and its group.
var rules = map[string]rule{
	"CronJob.batch":         makesPods(reviewCronJob),
	"DaemonSet.apps":        makesPods(reviewWorkload),
	"Deployment.apps":       makesPods(reviewWorkload),
	"Job.batch":             makesPods(reviewRun),
	"Pod":                   makesPods(reviewRun),
	"PodTemplate":           makesPods(reviewRun),
	"ReplicaSet.apps":       makesPods(reviewWorkload),
	"ReplicationController": makesPods(reviewWorkload),
	"StatefulSet.apps":      makesPods(reviewWorkload),

	"HorizontalPodAutoscaler.autoscaling": reviewAutoscaler,
	"ScaledObject.keda.sh":                reviewAutoscaler,

	"HTTPRoute.gateway.networking.k8s.io": reviewAddresses,
	"Ingress.networking.k8s.io":           reviewAddresses,
	"Service":                             reviewService,

	"ClusterRole.rbac.authorization.k8s.io":        reviewRole,
	"ClusterRoleBinding.rbac.authorization.k8s.io": reviewBinding,
	"Role.rbac.authorization.k8s.io":               reviewRole,
	"RoleBinding.rbac.authorization.k8s.io":        reviewBinding,

	"CustomResourceDefinition.apiextensions.k8s.io": reviewDefinition,
	"Namespace":             reviewNamespace,
	"PersistentVolume":      lostWith("claims lose their data, unless it is retained"),
	"PersistentVolumeClaim": lostWith("its data is lost, unless its volume is one that is retained"),

	"LimitRange":                      guardAgainst("Pods may take more, and lose their defaults"),
	"NetworkPolicy.networking.k8s.io": guardAgainst("traffic that it kept out is let through"),
	"PodDisruptionBudget.policy":      guardAgainst("a drain may stop all Pods at once"),
	"ResourceQuota":                   guardAgainst("nothing limits what its namespace takes"),
	"MutatingAdmissionPolicy.admissionregistration.k8s.io":          guardAgainst("what it changed comes in as it is"),
	"MutatingAdmissionPolicyBinding.admissionregistration.k8s.io":   guardAgainst("what its policy changed comes in as it is"),
	"MutatingWebhookConfiguration.admissionregistration.k8s.io":     guardAgainst("what it changed comes in as it is"),
	"ValidatingAdmissionPolicy.admissionregistration.k8s.io":        guardAgainst("what it refused is let in"),
	"ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io": guardAgainst("what its policy refused is let in"),
	"ValidatingWebhookConfiguration.admissionregistration.k8s.io":   guardAgainst("what it refused is let in"),
}

// review returns what a change of an object does, by the rule of its kind.
func (w *world) review(c diff.Change) []kind.Effect {
	o := c.Object().Unstructured
	if e, ok := w.refused[idOf(o)]; ok {
		return []kind.Effect{e}
	}
	if c.After == nil {
		if w.gone[o.GetNamespace()] {
			return nil // the effect on its Namespace says so
		}
		if by := keptBy(o); by != "" && !w.isCovered(o) {
			return []kind.Effect{{Type: ObjectKept, What: kind.Say("stays in the cluster: %s keeps it from being pruned", by)}}
		}
	}
	if rule := rules[kindOf(o)]; rule != nil {
		return rule(w, c)
	}
	return nil
}

// lostWith returns the rule of an object that holds data.
func lostWith(risk kind.Sentence) rule {
	return func(_ *world, c diff.Change) []kind.Effect {
		if c.After != nil {
			return nil
		}
		return []kind.Effect{{Type: StorageRemoved, What: "is removed", Risk: risk}}
	}
}

// guardAgainst returns the rule of a policy or limit that keeps something from happening.
func guardAgainst(risk kind.Sentence) rule {
	return func(w *world, c diff.Change) []kind.Effect {
		switch {
		case c.Before == nil || w.isCovered(c.Object().Unstructured):
			return nil
		case c.After == nil:
			return []kind.Effect{{Type: GuardRemoved, What: "is removed", Risk: risk}}
		case equality.Semantic.DeepEqual(withoutMetadata(c.Before), withoutMetadata(c.After)):
			return nil
		}
		return []kind.Effect{{Type: GuardChanged, What: "changes", Risk: kind.Say("see in the diff that it still guards: without it, %s", risk)}}
	}
}

func withoutMetadata(o *unstructured.Unstructured) map[string]any {
	content := maps.Clone(o.Object)
	delete(content, "metadata")
	return content
}

// reviewDefinition returns the rule of CustomResourceDefinitions. A kind may say what a change of its
// own one does.
func reviewDefinition(w *world, c diff.Change) []kind.Effect {
	if c.After == nil {
		return []kind.Effect{{Type: DefinitionRemoved, What: "is removed", Risk: kind.Say("every %s of the cluster is deleted", text(c.Before, "spec", "names", "kind"))}}
	}
	k := w.writtenKind(Object{Group: text(c.After, "spec", "group"), Kind: text(c.After, "spec", "names", "kind")})
	if c.Before == nil || k == nil {
		return nil
	}
	effects, err := registry.ReviewCRD(k, c.Before, c.After)
	if err != nil {
		return untold(err)
	}
	return effects
}
