package review

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/pod-security-admission/api"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/diff"
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
	"Gateway.gateway.networking.k8s.io":   {{fields: []string{"spec.gatewayClassName", "spec.addresses", "spec.infrastructure", "spec.allowedListeners", "spec.tls"}, risk: connects}},
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

// reviewGuards reviews the fields of an object that decide about other objects.
func (w *world) reviewGuards(c diff.Change) (effects []kind.Effect) {
	o := c.Object().Unstructured
	all := guardsOf(kindOf(o))
	if w.isParameter(o) {
		all = []guard{{risk: "admission policies take their parameters from it: " + admits}}
	}
	for _, g := range all {
		effects = append(effects, g.review(w, c)...)
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

func (g guard) review(w *world, c diff.Change) []kind.Effect {
	if len(g.fields) == 0 && c.After == nil {
		return removalOf(GuardRemoved, cmp.Or(g.lost, g.risk))(w, c)
	}
	fields := slices.DeleteFunc(w.fieldsOf(c), func(f diff.FieldChange) bool { return !g.decides(f) })
	switch {
	case len(fields) == 0, c.After == nil, c.Before == nil && g.limits:
		return nil
	case c.Before == nil:
		return []kind.Effect{{Type: GuardAdded, What: "is added with " + sayFields(fields, mostAdded, sayValue), Risk: g.risk, Fields: pathsOf(fields)}}
	}
	return []kind.Effect{{Type: GuardChanged, What: "changes " + sayFields(fields, mostChanged, sayChange), Risk: g.risk, Fields: pathsOf(fields)}}
}

// decides reports whether the changed field is among the fields of the guard.
func (g guard) decides(f diff.FieldChange) bool {
	isIn := func(path string) bool { return f.IsIn(path) || diff.FieldChange{Path: path}.IsIn(f.Path) }
	if len(g.fields) == 0 {
		return !slices.ContainsFunc([]string{"apiVersion", "kind", "metadata", "status"}, f.IsIn)
	}
	return slices.ContainsFunc(g.fields, isIn) && (g.value == "" || f.After != nil && *f.After == g.value)
}

// isParameter reports whether an admission policy takes parameters from an object. An environment without
// the policy's bindings may use all objects of the kind.
func (w *world) isParameter(o *unstructured.Unstructured) bool {
	names := w.parameters[kindOf(o)]
	return names.Has("") || names.Has(o.GetName())
}

// parametersOf returns the names of the parameters of admission policies by their kinds, or the name "" for
// all of a kind.
func parametersOf(objects []*unstructured.Unstructured) map[string]sets.Set[string] {
	bound := map[string]sets.Set[string]{} // by policy
	for _, o := range objects {
		if o.GroupVersionKind().Group == "admissionregistration.k8s.io" && strings.HasSuffix(o.GetKind(), "PolicyBinding") {
			id := strings.TrimSuffix(o.GetKind(), "Binding") + " " + text(o, "spec", "policyName")
			if bound[id] == nil {
				bound[id] = sets.Set[string]{}
			}
			if _, ok, _ := unstructured.NestedMap(o.Object, "spec", "paramRef"); ok {
				bound[id].Insert(text(o, "spec", "paramRef", "name"))
			}
		}
	}
	all := map[string]sets.Set[string]{}
	for _, o := range objects {
		version, name := text(o, "spec", "paramKind", "apiVersion"), text(o, "spec", "paramKind", "kind")
		if o.GroupVersionKind().Group != "admissionregistration.k8s.io" || name == "" {
			continue
		}
		names, ok := bound[o.GetKind()+" "+o.GetName()]
		if !ok {
			names = sets.New("")
		}
		key := schema.FromAPIVersionAndKind(version, name).GroupKind().String()
		all[key] = names.Union(all[key])
	}
	return all
}

// reviewSettings reviews annotations that configure the controllers of routes.
func reviewSettings(c diff.Change) (effects []kind.Effect) {
	o := c.Object()
	if group := o.GroupVersionKind().Group; c.After == nil || kindOf(o.Unstructured) != "Service" && !strings.HasSuffix(group, "networking.k8s.io") {
		return nil
	}
	was := map[string]string{}
	if c.Before != nil {
		was = c.Before.GetAnnotations()
	}
	byRisk := map[kind.Sentence][]string{}
	for _, key := range changedKeys(was, c.After.GetAnnotations()) {
		risk := settingRisk(key)
		if isSnippet := risk == runsSnippet; risk != "" && (isSnippet || c.Before != nil) {
			byRisk[risk] = append(byRisk[risk], key)
		}
	}
	for _, risk := range slices.Sorted(maps.Keys(byRisk)) {
		effects = append(effects, kind.Effect{Type: RouteChanged, What: "changes " + quoteAll(byRisk[risk]), Risk: risk})
	}
	return effects
}

// changedKeys returns the sorted keys with different values.
func changedKeys(was, is map[string]string) (keys []string) {
	for key, value := range is {
		if old, ok := was[key]; !ok || old != value {
			keys = append(keys, key)
		}
	}
	for key := range was {
		if _, ok := is[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

const (
	runsSnippet = "it is code in the proxy: its author may read all requests and the keys of all routes"
	accepts     = "it decides which clients may send requests"
	configures  = "it configures the controller: other clients may connect, or other servers may answer"
)

var (
	acceptance = regexp.MustCompile(`auth|white-?list|allow-?list|deny-?list|black-?list|source-range|inbound-cidrs|allowed-ip|cors|waf|modsecurity|oidc|jwt|scheme|security-group`)

	// harmless are the domains of keys that no controller of routes reads.
	harmless = regexp.MustCompile(`^([^/]*|(.*\.)?(argoproj\.io|toolkit\.fluxcd\.io|helm\.sh|kubectl\.kubernetes\.io|app\.kubernetes\.io|gatehouse\.example\.com)/.*)$`)

	// reviewed are the keys of Services with words of their own.
	reviewed = regexp.MustCompile(`^service\.beta\.kubernetes\.io/(aws-load-balancer-(internal|scheme)|azure-load-balancer-internal|load-balancer-source-ranges)$|^(networking\.gke\.io|cloud\.google\.com)/load-balancer-type$`)
)

// settingRisk returns the risk of another value of an annotation.
func settingRisk(key string) kind.Sentence {
	switch {
	case harmless.MatchString(key), reviewed.MatchString(key):
		return ""
	case strings.Contains(key, "snippet"), strings.Contains(key, "lua"):
		return runsSnippet
	case acceptance.MatchString(key):
		return accepts
	}
	return configures
}

// reviewNamespace reviews Namespaces: removal deletes all objects inside, and labels decide which policies
// apply.
func reviewNamespace(w *world, c diff.Change) (effects []kind.Effect) {
	switch {
	case c.After == nil:
		inside := kind.Count(int64(w.removed[c.Before.GetName()]), "object")
		return []kind.Effect{{Type: NamespaceRemoved, What: "is removed", Risk: kind.Say("everything in it is deleted: %s of this repository, and all others", inside)}}
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
		effects = append(effects, kind.Effect{Type: PodSecurityLowered, What: "Pod Security" + mode.name + kind.Say(": %s → %s", from, to), Risk: mode.risk})
	}
	others := slices.DeleteFunc(changedKeys(c.Before.GetLabels(), c.After.GetLabels()), func(key string) bool {
		return strings.HasPrefix(key, "pod-security.kubernetes.io/") || strings.Contains(key, "/") && harmless.MatchString(key)
	})
	if len(others) > 0 {
		effects = append(effects, kind.Effect{Type: GuardChanged, What: "changes the labels " + quoteAll(others), Risk: "policies and webhooks select Namespaces by their labels: they may no longer apply to it, or allow it more"})
	}
	return effects
}

// podSecurity returns the policy in the labels of a Namespace. A missing label stands for privileged.
func podSecurity(namespace *unstructured.Unstructured) api.Policy {
	privileged := api.LevelVersion{Level: api.LevelPrivileged, Version: api.LatestVersion()}
	p, _ := api.PolicyToEvaluate(namespace.GetLabels(), api.Policy{Enforce: privileged, Audit: privileged, Warn: privileged})
	return p
}
