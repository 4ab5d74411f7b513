// Package guards answers: does a change touch objects or fields that decide about other objects? A row of
// the table in guards.go is a risk without code. TestRoutesAndGuardsAreReviewed of package review proves it.
package guards

import (
	"cmp"
	"slices"
	"strings"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
	"example.com/gatehouse/render/verdict/secret"
)

// guard is a kind of objects, or fields of it, that decide about other objects, their clients or their data.
type guard struct {
	fields []string // empty for the whole object, without its metadata and status
	value  string   // of the fields after the change, if only this one is a risk
	risk   kind.Sentence
	lost   kind.Sentence // the risk of removing the object; empty for the same
	limits bool          // a new object is no risk
}

const (
	connects   = "it changes who can connect to Pods, or where their connections go"
	admits     = "it decides which objects the cluster admits, or changes them: it may read and change all of them"
	unadmitted = "objects that it refused are admitted"
	unmutated  = "objects are no longer changed on admission"
	syncs      = "it decides which objects are applied to the cluster, from which source, and with which rights"
	schedules  = "it decides where Pods run, and which of them stop for others"
	isolates   = "it decides how Pods are isolated from their nodes"
	stillLimit = "check in the diff that it still protects: without it, "
	losesData  = "data is lost as soon as its claim or object is deleted"
)

func limit(risk kind.Sentence) []guard {
	return []guard{{risk: stillLimit + risk, lost: risk, limits: true}}
}

// guards maps kinds with their group, and groups after a dot, to their guards.
var guards = map[string][]guard{
	"LimitRange":                 limit("Pods may use more resources, and lose their defaults"),
	"PodDisruptionBudget.policy": limit("a drain may stop all Pods at once"),
	"ResourceQuota":              limit("the resources of its namespace are unlimited"),

	"MutatingAdmissionPolicy.admissionregistration.k8s.io":          {{risk: admits, lost: unmutated}},
	"MutatingAdmissionPolicyBinding.admissionregistration.k8s.io":   {{risk: admits, lost: unmutated}},
	"MutatingWebhookConfiguration.admissionregistration.k8s.io":     {{risk: admits, lost: unmutated}},
	"ValidatingAdmissionPolicy.admissionregistration.k8s.io":        {{risk: admits, lost: unadmitted}},
	"ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io": {{risk: admits, lost: "objects that its policy refused are admitted"}},
	"ValidatingWebhookConfiguration.admissionregistration.k8s.io":   {{risk: admits, lost: unadmitted}},
	"APIService.apiregistration.k8s.io":                             {{risk: "its server answers all requests for its API, and sees who sends them"}},
	"CustomResourceDefinition.apiextensions.k8s.io":                 {{fields: []string{"spec.conversion"}, risk: "its webhook reads and changes all objects of this kind"}},
	"ClusterTrustBundle.certificates.k8s.io":                        {{risk: "it decides which certificates Pods trust"}},

	".cilium.io":                   {{risk: connects}},
	".discovery.k8s.io":            {{risk: connects}},
	".gateway.networking.x-k8s.io": {{risk: connects}},
	".multicluster.x-k8s.io":       {{risk: connects}},
	".networking.istio.io":         {{risk: connects}},
	".networking.k8s.io":           {{risk: connects}},
	".projectcalico.org":           {{risk: connects}},
	".security.istio.io":           {{risk: connects}},
	"Endpoints":                    {{risk: connects}},

	// Rules of their own compare these.
	"GRPCRoute.gateway.networking.k8s.io": {},
	"HTTPRoute.gateway.networking.k8s.io": {},
	"TCPRoute.gateway.networking.k8s.io":  {},
	"TLSRoute.gateway.networking.k8s.io":  {},
	"UDPRoute.gateway.networking.k8s.io":  {},
	"NetworkPolicy.networking.k8s.io":     {},
	"Ingress.networking.k8s.io":           {{fields: []string{"spec.ingressClassName"}, risk: "another controller serves it, maybe for other clients"}},
	"Service": {
		{fields: []string{"spec.loadBalancerClass"}, risk: "another controller serves it, maybe for other clients"},
		{fields: []string{"spec.publishNotReadyAddresses"}, value: "true", risk: "requests reach Pods that are not ready"},
	},

	".toolkit.fluxcd.io":              {{risk: syncs}},
	"Application.argoproj.io":         {{risk: syncs}, {fields: []string{"operation"}, risk: syncs}},
	"ApplicationSet.argoproj.io":      {{risk: syncs}},
	"AppProject.argoproj.io":          {{risk: syncs}},
	"Node":                            {{fields: []string{"spec.taints", "spec.unschedulable", "metadata.labels"}, risk: schedules}},
	"PriorityClass.scheduling.k8s.io": {{risk: schedules}},
	"RuntimeClass.node.k8s.io":        {{risk: isolates}},

	"PersistentVolume":            {{fields: []string{"spec.persistentVolumeReclaimPolicy"}, value: "Delete", risk: losesData}, {fields: []string{"spec.persistentVolumeReclaimPolicy"}, value: "Recycle", risk: losesData}},
	"StorageClass.storage.k8s.io": {{risk: "it decides who stores the data of volumes, and whether it is deleted with them"}},
	"StatefulSet.apps":            {{fields: []string{"spec.persistentVolumeClaimRetentionPolicy.whenDeleted", "spec.persistentVolumeClaimRetentionPolicy.whenScaled"}, value: "Delete", risk: losesData}},
	"Secret":                      {{fields: []string{"metadata.annotations[" + secret.PublicAnnotation + "]"}, risk: "its values are public: everyone who reads this repository has them"}},
}

// Review reviews the fields of an object that decide about other objects.
func Review(w *world.World, c diff.Change) (effects []kind.Effect) {
	o := c.Object().Unstructured
	all := guardsOf(world.KindOf(o))
	if w.IsParameter(o) {
		all = []guard{{risk: "admission policies take their parameters from it: " + admits}}
	}
	for _, g := range all {
		effects = append(effects, g.review(w.FieldsOf(c), c)...)
	}
	return append(effects, reviewSettings(c)...)
}

// guardsOf returns the guards of a kind, or of the longest end of its group.
func guardsOf(kind string) []guard {
	if all, ok := guards[kind]; ok {
		return all
	}
	for _, group, ok := strings.Cut(kind, "."); ok; _, group, ok = strings.Cut(group, ".") {
		if all := guards["."+group]; all != nil {
			return all
		}
	}
	return nil
}

func (g guard) review(fields []diff.FieldChange, c diff.Change) []kind.Effect {
	if len(g.fields) == 0 && c.After == nil {
		return effect.Removed(effect.GuardRemoved, cmp.Or(g.lost, g.risk))
	}
	fields = slices.DeleteFunc(slices.Clone(fields), func(f diff.FieldChange) bool { return !g.decides(f) })
	switch {
	case len(fields) == 0, c.After == nil, c.Before == nil && g.limits:
		return nil
	}
	e := effect.OfFields(c, fields)
	if e.Type, e.Risk = effect.GuardChanged, g.risk; c.Before == nil {
		e.Type = effect.GuardAdded
	}
	return []kind.Effect{e}
}

// decides reports whether the changed field is among the fields of the guard.
func (g guard) decides(f diff.FieldChange) bool {
	isIn := func(path string) bool { return f.IsIn(path) || diff.FieldChange{Path: path}.IsIn(f.Path) }
	if len(g.fields) == 0 {
		return !slices.ContainsFunc([]string{"apiVersion", "kind", "metadata", "status"}, f.IsIn)
	}
	return slices.ContainsFunc(g.fields, isIn) && (g.value == "" || f.After != nil && *f.After == g.value)
}
