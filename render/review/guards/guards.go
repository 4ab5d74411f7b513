// Package guards answers: which changed fields and removed objects are risks, because they decide about other
// objects, or give Pods privileges? A row of the tables in guards.go and privileges.go is a risk without code.
// TestRoutesAndGuardsAreReviewed of package review proves it.
package guards

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/verdict/secret"
)

// guard is a kind of objects, or fields of it, that decide about other objects, their clients or their data.
type guard struct {
	fields *regexp.Regexp // of paths; nil for the whole object, without its metadata and status
	when   condition      // of changes; nil for all
	// isRisk tells values that are a risk, with the match of fields; nil for all values.
	isRisk func(match []string, value string) bool
	risk   kind.Sentence // empty for fields that are harmless
	lost   kind.Sentence // the risk of removing the object, empty for the same; or such a value, empty for none
	limits bool          // a new object is no risk
	// severity is the severity of the risk; 0 for a serious one.
	severity effect.Severity
}

const grave = effect.Grave

const (
	connects   = "it changes who can connect to Pods, where their connections go, or who can read them"
	admits     = "it decides which objects the cluster admits, or changes them: it may read and change all of them"
	unadmitted = "objects that it refused are admitted"
	unmutated  = "objects are no longer changed on admission"
	servesAPI  = "its server answers all requests for its API, and sees who sends them"
	receives   = "it receives all connections to these addresses, also if they belong to other servers"
	isolates   = "it decides how Pods are isolated from their nodes"
	stores     = "it decides who stores the data of volumes, and whether it is deleted with them"
	schedules  = "it decides where Pods run, and which of them stop for others"
	upgrades   = "it may not start on its data: files of another major version may not fit, and nothing leads back"
	losesData  = "data is lost as soon as its claim or object is deleted"
)

// at matches the fields at paths, and all fields below.
func at(paths ...string) *regexp.Regexp {
	return regexp.MustCompile(`^(` + strings.ReplaceAll(regexp.QuoteMeta(strings.Join(paths, " ")), " ", "|") +
		`)([.\[]|$)`)
}

func annotations(names ...string) *regexp.Regexp {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = "metadata.annotations[" + name + "]"
	}
	return at(paths...)
}

func oneOf(values ...string) func([]string, string) bool {
	return func(_ []string, value string) bool { return slices.Contains(values, value) }
}

// tools matches the annotations and labels of tools.
const tools = `\[([^/]*\.)?(argoproj\.io|toolkit\.fluxcd\.io|helm\.sh|kubectl\.kubernetes\.io|` +
	`app\.kubernetes\.io|gatehouse\.example\.com)/`

// settings guard the annotations of routes, which their controllers read.
var settings = []guard{
	{fields: regexp.MustCompile(`^metadata\.annotations(\.|\[[^/]*\]$|` + tools + `)`)},
	{fields: regexp.MustCompile(`^metadata\.annotations.*(snippet|lua)`), isRisk: except(),
		risk: "it is code in the proxy: its author may read all requests and the keys of all routes"},
	{
		fields: regexp.MustCompile(
			`^metadata\.annotations.*(auth|white-?list|allow-?list|deny-?list|black-?list|source-range|` +
				`inbound-cidrs|allowed-ip|cors|waf|modsecurity|oidc|jwt|scheme|internal|load-balancer-type|` +
				`security-group)`), risk: "it decides which clients may connect or send requests", limits: true,
	},
	{fields: at("metadata.annotations"),
		risk: "it configures the controller: other clients may connect, or other servers may answer", limits: true},
}

// scaler guards the number of Pods under load.
var scaler = []guard{
	{fields: at("spec.minReplicas", "spec.minReplicaCount"), when: falls, risk: "fewer Pods run without load"},
	{fields: at("spec.minReplicas", "spec.minReplicaCount"), when: rises},
	{fields: at("spec.maxReplicas", "spec.maxReplicaCount", "spec.scaleTargetRef"), limits: true,
		risk: "it decides how many Pods run under load"},
	{lost: "its workload keeps its current number of Pods, or the number in its spec"},
}

// mutating and validating guard what admits objects.
var (
	mutating   = []guard{{risk: admits, lost: unmutated, severity: grave}}
	validating = []guard{{risk: admits, lost: unadmitted, severity: grave}}
)

// guards maps kinds with their group to their guards. The first guard of a field counts.
var guards = map[string][]guard{
	"HorizontalPodAutoscaler.autoscaling": scaler,
	"ScaledObject.keda.sh":                scaler,

	"VerticalPodAutoscaler.autoscaling.k8s.io": {{fields: at("spec.updatePolicy.updateMode"),
		isRisk: oneOf("Auto", "InPlaceOrRecreate", "Recreate"), risk: "its Pods are evicted to get other resources"}},

	"CronJob.batch":              cronJobs,
	"LimitRange":                 limits,
	"PodDisruptionBudget.policy": budgets,
	"ResourceQuota":              quotas,

	"MutatingAdmissionPolicy.admissionregistration.k8s.io":        mutating,
	"MutatingAdmissionPolicyBinding.admissionregistration.k8s.io": mutating,
	"MutatingWebhookConfiguration.admissionregistration.k8s.io":   mutating,
	"ValidatingAdmissionPolicy.admissionregistration.k8s.io":      validating,
	"ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io": {{risk: admits,
		lost: "objects that its policy refused are admitted", severity: grave}},
	"ValidatingWebhookConfiguration.admissionregistration.k8s.io": validating,
	"APIService.apiregistration.k8s.io": {{risk: servesAPI,
		lost: "all requests for its API fail", severity: grave}},
	"CustomResourceDefinition.apiextensions.k8s.io": {{fields: at("spec.conversion"),
		risk: "its webhook reads and changes all objects of this kind"}},
	"ClusterTrustBundle.certificates.k8s.io": {{risk: "it decides which certificates Pods trust"}},

	"Endpoints": {{risk: connects}},

	"NetworkPolicy.networking.k8s.io": settings, // connections are computed
	"Service": append(settings, []guard{
		{fields: at("spec.type"), isRisk: oneOf("NodePort", "LoadBalancer"),
			risk: "its Pods are reachable from outside of the cluster",
			lost: "clients outside of the cluster cannot connect"},
		{fields: allocated, when: stays, risk: keepsAllocated},
		{fields: at("spec.ports", "spec.selector", "spec.loadBalancerClass", "spec.loadBalancerSourceRanges"),
			limits: true, risk: connects},
		{fields: at("spec.externalIPs"), isRisk: except(), risk: receives,
			lost: "clients of these addresses cannot connect"},
		{
			fields: at("spec.externalName"), isRisk: except(),
			risk: "its clients connect to this host", lost: "its clients no longer connect to this host",
		},
		{fields: at("spec.externalTrafficPolicy"), limits: true, risk: "its Pods see other addresses of clients: " +
			"policies of addresses no longer fit, or nodes without its Pods refuse connections"},
		{fields: at("spec.publishNotReadyAddresses"), isRisk: oneOf("true"),
			risk: "requests reach Pods that are not ready"},
		{lost: "clients cannot resolve its name"},
	}...),

	"Namespace": {
		{fields: regexp.MustCompile(`^metadata\.labels` + tools)},
		{fields: regexp.MustCompile(`^metadata\.labels\[pod-security\.kubernetes\.io/`),
			risk: "Pods that it refused are let in, or others are refused", limits: true},
		{fields: at("metadata.labels"),
			risk: "policies and webhooks select Namespaces by their labels: they may no longer apply to it, or " +
				"allow it more", limits: true},
		{lost: "all objects in it are deleted, whether they are in this repository or not",
			severity: grave},
	},
	"Application.argoproj.io":                         applications,
	"ApplicationSet.argoproj.io":                      applicationSets,
	"ArtifactGenerator.source.extensions.fluxcd.io":   sources,
	"ResourceSet.fluxcd.controlplane.io":              resourceSets,
	"ResourceSetInputProvider.fluxcd.controlplane.io": sources,
	"AppProject.argoproj.io": {{fields: ordinary},
		{risk: syncs, lost: "its Applications are no longer synced"}},
	"HelmRelease.helm.toolkit.fluxcd.io":        helmReleases,
	"Kustomization.kustomize.toolkit.fluxcd.io": kustomizations,

	"Node": {{fields: at("spec.taints", "spec.unschedulable", "metadata.labels"),
		risk: schedules}},
	"PriorityClass.scheduling.k8s.io": {{risk: schedules}},
	"RuntimeClass.node.k8s.io":        {{risk: isolates, lost: "new Pods that name it are refused"}},

	"PersistentVolume": {
		{fields: at("spec.persistentVolumeReclaimPolicy"), isRisk: oneOf("Delete", "Recycle"), risk: losesData,
			severity: grave},
		{fields: at("spec.claimRef", "spec.csi", "spec.hostPath", "spec.iscsi", "spec.local", "spec.nfs"),
			when: isMoved, risk: "another claim gets its data, or its claim gets the data of others", severity: grave},
		{fields: at("spec.hostPath"), isRisk: except(), risk: "its claim has these files of a node", severity: grave},
		{lost: "claims lose their data, unless it is retained", severity: grave},
	},
	"PersistentVolumeClaim": {{lost: "its data is lost, unless its volume is retained", severity: grave}},
	"StorageClass.storage.k8s.io": {{fields: annotations("storageclass.kubernetes.io/is-default-class"),
		risk: "new claims without a class get another one, or wait for one", limits: true},
		{risk: stores, lost: "new claims that name it get no volume"}},
	"StatefulSet.apps": {{fields: at("spec.persistentVolumeClaimRetentionPolicy.whenDeleted",
		"spec.persistentVolumeClaimRetentionPolicy.whenScaled"), isRisk: oneOf("Delete"), risk: losesData}},
	"ServiceAccount": {
		{fields: at("automountServiceAccountToken"), isRisk: oneOf("false"),
			lost: "its Pods get its token, unless they opt out: an attacker in a container can act as it at the API " +
				"server"},
		{fields: annotations(compare.CloudRoles...), isRisk: except(""),
			risk: "its Pods get these rights in the cloud"},
		{lost: "its new Pods are refused; a cluster creates the ServiceAccount default again, and mounts its token"},
	},
	"Secret": {{fields: annotations(secret.PublicAnnotation), isRisk: except(),
		risk: "its values are public: everyone who reads this repository has them"}},
}

// Risk is the risk of a changed field.
type Risk struct {
	Path string
	Risk kind.Sentence
	// OfObject tells that all fields of the object have this risk.
	OfObject bool
	// IsLimit tells an object that limits others. If a field follows from a source object, the effect on the
	// source object is enough.
	IsLimit  bool
	Severity effect.Severity
}

// Risks returns the risks of the changed fields of an object.
func Risks(both *compare.Comparison, c compare.Change) (risks []Risk) {
	if c.After == nil {
		return nil
	}
	hasPods := both.HasTemplates(c.After)
	rows := slices.Concat(guardsOf(both, c), ofAll)
	_, isBuiltIn := apiserver.Newest.Lookup(c.After.GroupVersionKind())
	if hasPods {
		rows = slices.Concat(privileges, volumes, rows)
	} else if !isBuiltIn && both.Kinds.Find(c.After.GroupVersionKind()) == nil {
		rows = slices.Concat(rows, privileges, ofPodsByName)
	}
	if !hasPods && c.Before != nil {
		risks = lostDigests(c)
	}
	for _, f := range leaves(c) {
		for _, g := range rows {
			if risk, isDecided := g.judge(both, c, f); isDecided {
				if risk != "" && (c.Before != nil || !g.limits) {
					risks = append(risks, Risk{f.Path, risk, g.fields == nil, g.fields == nil && g.limits,
						cmp.Or(g.severity, effect.Serious)})
				}
				break
			}
		}
	}
	return risks
}

// Loss returns the risk of removing an object, if any, and its severity. The effect on a source object, or on a removed
// Namespace, stands for its own.
func Loss(both *compare.Comparison, c compare.Change) (kind.Sentence, effect.Severity) {
	o := c.Before
	if c.After != nil {
		return "", 0
	}
	isTold := both.IsCovered(o) && o.GetKind() != "PersistentVolumeClaim" || both.IsGone(o.GetNamespace()) ||
		compare.KeptBy(c) != nil
	for _, g := range guardsOf(both, c) {
		if g.fields == nil && !isTold {
			lost := cmp.Or(g.lost, g.risk)
			if lost == undelivers {
				lost = undelivered(both, c)
			}
			return lost, cmp.Or(g.severity, effect.Serious)
		}
	}
	return "", 0
}

// guardsOf returns the guards of an object by its kind, or by the table of kinds. The first guard of a field counts.
func guardsOf(both *compare.Comparison, c compare.Change) []guard {
	o := c.Object().Unstructured
	if both.IsParameter(o) {
		return []guard{{risk: "admission policies take their parameters from it: " + admits}}
	}
	kind := compare.KindOf(o)
	if rows, ok := guards[kind]; ok {
		return rows
	}
	for _, k := range kinds {
		if k.match.MatchString(kind) {
			return k.guards
		}
	}
	return nil
}

// leaves returns the changed fields. In place of a removed branch it has the fields below, and it adds them to
// a branch in another order or in place of a text. A removed item of a list stays whole.
func leaves(c compare.Change) (all []compare.FieldChange) {
	removed := sets.Set[string]{}
	replaced := sets.Set[string]{}
	isBranch := func(text *string) bool {
		return text != nil && (strings.HasPrefix(*text, "{") || strings.HasPrefix(*text, "["))
	}
	for _, f := range c.Fields() {
		if f.After == nil && isBranch(f.Before) && !strings.HasSuffix(f.Path, "]") {
			removed.Insert(f.Path)
			continue
		}
		all = append(all, f)
		if f.Before != nil && isBranch(f.After) {
			replaced.Insert(f.Path)
		}
	}
	if len(removed)+len(replaced) == 0 {
		return all
	}
	was := map[string]string{}
	for _, f := range (compare.Change{After: c.Before}).Fields() {
		was[f.Path] = *f.After
		if f.IsWithin(removed) {
			all = append(all, compare.FieldChange{Path: f.Path, Before: f.After})
		}
	}
	for _, f := range (compare.Change{After: c.After}).Fields() {
		if f.IsWithin(replaced) && was[f.Path] != *f.After {
			all = append(all, f)
		}
	}
	return all
}

// judge returns the risk of a changed field, and whether the guard decides it.
func (g guard) judge(both *compare.Comparison, c compare.Change, f compare.FieldChange) (risk kind.Sentence,
	isDecided bool) {
	if g.fields == nil {
		return g.risk, !slices.ContainsFunc([]string{"apiVersion", "kind", "metadata", "status"}, f.IsIn)
	}
	match := g.fields.FindStringSubmatch(f.Path)
	hasRisk := func(value *string) bool { return value != nil && g.isRisk(match, *value) }
	switch {
	case match == nil, g.when != nil && !g.when(both, c, f):
		return "", false
	case g.isRisk == nil, hasRisk(f.After):
		return g.risk, true
	}
	return g.lost, g.lost != "" && hasRisk(f.Before)
}
