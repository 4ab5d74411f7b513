// Package guards answers: does a change touch objects or fields that decide about other objects? A row of
// the table in guards.go is a risk without code. TestRoutesAndGuardsAreReviewed of package review proves it.
package guards

import (
	"cmp"
	"regexp"
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
	fields []string       // empty for the whole object, without its metadata and status
	paths  *regexp.Regexp // of these fields, if not all count
	values *regexp.Regexp // of the fields, if only these are a risk
	risk   kind.Sentence  // empty for fields that are harmless
	lost   kind.Sentence  // the risk of removing the object, empty for the same; or such a value, empty for none
	limits bool           // a new object is no risk
}

const (
	connects   = "it changes who can connect to Pods, where their connections go, or who can read them"
	admits     = "it decides which objects the cluster admits, or changes them: it may read and change all of them"
	unadmitted = "objects that it refused are admitted"
	unmutated  = "objects are no longer changed on admission"
	syncs      = "it decides which objects are applied to the cluster, from which source, and with which rights"
	schedules  = "it decides where Pods run, and which of them stop for others"
	selects    = "policies and webhooks select Namespaces by their labels: they may no longer apply to it, or allow it more"
	isolates   = "it decides how Pods are isolated from their nodes"
	stillLimit = "check in the diff that it still protects: without it, "
	losesData  = "data is lost as soon as its claim or object is deleted"
)

func limit(risk kind.Sentence) []guard {
	return []guard{{risk: stillLimit + risk, lost: risk, limits: true}}
}

const (
	annotations = "metadata.annotations"
	labels      = "metadata.labels"
	tools       = `\[([^/]*\.)?(argoproj\.io|toolkit\.fluxcd\.io|helm\.sh|kubectl\.kubernetes\.io|app\.kubernetes\.io|gatehouse\.example\.com)/`
)

// settings guard the annotations of routes, which their controllers read.
var settings = []guard{
	{fields: []string{annotations}, paths: regexp.MustCompile(`annotations(\.|\[[^/]*\]$|` + tools + `)`)},
	{fields: []string{annotations}, paths: regexp.MustCompile(`snippet|lua`), risk: "it is code in the proxy: its author may read all requests and the keys of all routes"},
	{fields: []string{annotations}, paths: regexp.MustCompile(`auth|white-?list|allow-?list|deny-?list|black-?list|source-range|inbound-cidrs|allowed-ip|cors|waf|modsecurity|oidc|jwt|scheme|internal|load-balancer-type|security-group`), risk: "it decides which clients may connect or send requests", limits: true},
	{fields: []string{annotations}, risk: "it configures the controller: other clients may connect, or other servers may answer", limits: true},
}

// guards maps kinds with their group, and groups after a dot, to their guards. The first guard of a field counts.
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
	".networking.k8s.io":           append(settings, guard{risk: connects}),
	".projectcalico.org":           {{risk: connects}},
	".security.istio.io":           {{risk: connects}},
	"Endpoints":                    {{risk: connects}},

	"NetworkPolicy.networking.k8s.io": settings, // connections are computed
	"Service": append(settings, []guard{
		{fields: []string{"spec.type"}, values: regexp.MustCompile("^(NodePort|LoadBalancer)$"), risk: "its Pods are reachable from outside of the cluster", lost: "clients outside of the cluster cannot connect"},
		{fields: []string{"spec.ports", "spec.selector", "spec.loadBalancerClass", "spec.loadBalancerSourceRanges"}, limits: true, risk: connects},
		{fields: []string{"spec.externalIPs"}, risk: "it receives all connections to these addresses, also if they belong to other servers"},
		{fields: []string{"spec.externalName"}, risk: "its clients connect to this host"},
		{fields: []string{"spec.publishNotReadyAddresses"}, values: regexp.MustCompile("^true$"), risk: "requests reach Pods that are not ready"},
	}...),

	"Namespace": {
		{fields: []string{labels}, paths: regexp.MustCompile(tools)},
		{fields: []string{labels}, paths: regexp.MustCompile(`\[pod-security\.kubernetes\.io/`), risk: "Pods that it refused are let in, or others are refused", limits: true},
		{fields: []string{labels}, risk: selects, limits: true},
	},
	".toolkit.fluxcd.io":              {{risk: syncs}},
	"Application.argoproj.io":         {{risk: syncs}},
	"ApplicationSet.argoproj.io":      {{risk: syncs}},
	"AppProject.argoproj.io":          {{risk: syncs}},
	"Node":                            {{fields: []string{"spec.taints", "spec.unschedulable", "metadata.labels"}, risk: schedules}},
	"PriorityClass.scheduling.k8s.io": {{risk: schedules}},
	"RuntimeClass.node.k8s.io":        {{risk: isolates}},

	"PersistentVolume":            {{fields: []string{"spec.persistentVolumeReclaimPolicy"}, values: regexp.MustCompile("^(Delete|Recycle)$"), risk: losesData}},
	"StorageClass.storage.k8s.io": {{risk: "it decides who stores the data of volumes, and whether it is deleted with them"}},
	"StatefulSet.apps":            {{fields: []string{"spec.persistentVolumeClaimRetentionPolicy.whenDeleted", "spec.persistentVolumeClaimRetentionPolicy.whenScaled"}, values: regexp.MustCompile("^Delete$"), risk: losesData}},
	"Secret":                      {{fields: []string{"metadata.annotations[" + secret.PublicAnnotation + "]"}, risk: "its values are public: everyone who reads this repository has them"}},
}

// Review reviews the fields of an object that decide about other objects.
func Review(w *world.World, c diff.Change) (effects []kind.Effect) {
	o, fields := c.Object().Unstructured, w.FieldsOf(c)
	all := guardsOf(world.KindOf(o))
	if w.IsParameter(o) {
		all = []guard{{risk: "admission policies take their parameters from it: " + admits}}
	}
	for _, g := range all {
		isLimit := len(g.fields) == 0 && g.limits
		decided := slices.DeleteFunc(slices.Clone(fields), func(f diff.FieldChange) bool { return !g.decides(f) })
		fields = slices.DeleteFunc(fields, g.decides)
		if !isLimit || !w.IsCovered(o) { // or else its source object tells it
			effects = append(effects, g.review(decided, c)...)
		}
	}
	return effects
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

// review returns the effect of changed fields of the guard.
func (g guard) review(fields []diff.FieldChange, c diff.Change) []kind.Effect {
	switch {
	case c.After == nil && len(g.fields) == 0:
		return effect.Removed(effect.GuardRemoved, cmp.Or(g.lost, g.risk))
	case c.After == nil, len(fields) == 0, g.risk == "", c.Before == nil && g.limits:
		return nil
	}
	e := effect.OfFields(c, fields)
	if e.Type, e.Risk = effect.GuardChanged, g.risk; c.Before == nil {
		e.Type = effect.GuardAdded
	}
	if !slices.ContainsFunc(fields, func(f diff.FieldChange) bool { return g.hasRisk(f.After) }) {
		e.Risk = g.lost
	}
	return []kind.Effect{e}
}

// decides reports whether the changed field is among the fields of the guard.
func (g guard) decides(f diff.FieldChange) bool {
	isIn := func(path string) bool { return f.IsIn(path) || diff.FieldChange{Path: path}.IsIn(f.Path) }
	switch {
	case len(g.fields) == 0:
		return !slices.ContainsFunc([]string{"apiVersion", "kind", "metadata", "status"}, f.IsIn)
	case !slices.ContainsFunc(g.fields, isIn):
		return false
	}
	path := f.Path
	if slices.Contains(g.fields, path) && f.Before != nil {
		path += *f.Before // the keys of a removed map
	}
	if g.paths != nil && !g.paths.MatchString(path) {
		return false
	}
	return g.hasRisk(f.After) || g.lost != "" && g.hasRisk(f.Before)
}

func (g guard) hasRisk(value *string) bool {
	return g.values == nil || value != nil && g.values.MatchString(*value)
}
