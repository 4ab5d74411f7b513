package rights

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	helpers "k8s.io/kubernetes/pkg/apis/rbac/v1"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/review/effect"
)

func allowsAll(r rbacv1.PolicyRule) bool {
	return slices.Contains(r.Verbs, "*") && slices.Contains(r.APIGroups, "*") && slices.Contains(r.Resources, "*") &&
		len(r.ResourceNames) == 0
}

// power is a set of requests that let a subject do more than their rules say.
// https://kubernetes.io/docs/concepts/security/rbac-good-practices/#privilege-escalation-risks
type power struct {
	can kind.Sentence
	// Empty resources are all of a group. A group ends with * if others may follow.
	verbs, groups, resources string
	// isOfCluster excludes resources without a namespace from the rights in a namespace.
	isOfCluster bool
}

// The powers that are no requests.
const (
	powerOverCluster = iota
	powerOverNamespace
	powerUnknown
	powerPartial
)

// The powers by their severity, the strongest first.
var (
	powers = slices.Concat(utmost, grave, lesser)

	utmost = []power{
		{can: "control the whole cluster"},
		{can: "control all objects of the namespace"},
		{can: "use rights that this environment does not define"},
		{can: "do more than was compared: their rights are too many"},
		{"give themselves any right", "escalate,bind", rbacv1.GroupName, "clusterroles", true},
		{"give themselves any right in the namespace", "escalate,bind", rbacv1.GroupName, "roles", false},
		{"act as others", "impersonate", "", "users,groups,uids", true},
		{"act as others", "impersonate", "authentication.k8s.io", "uids", true},
		{"act as others", anyImpersonation, "", "", false},
		{"act as others", "impersonate", "", "serviceaccounts", false},
		{"act as ServiceAccounts by their tokens", "create", "", "serviceaccounts/token", false},
		{"issue certificates for any user", "update,patch", "certificates.k8s.io",
			"certificatesigningrequests/approval,certificatesigningrequests/status", true},
		{"issue certificates for any user", "approve,sign", "certificates.k8s.io", "signers", true},
	}

	grave = []power{
		{"run commands on all Pods of nodes", "get,create,update,patch,delete", "", "nodes/proxy", true},
		{"run commands in Pods", "get,create", "", "pods/exec,pods/attach", false},
		{"run commands in Pods", "update,patch", "", "pods/ephemeralcontainers", false},
		{"read Secrets", "get,list,watch", "", "secrets", false},
		{"change Secrets", anyChange, "", "secrets", false},
		{"read and change objects by webhooks", anyChange, "admissionregistration.k8s.io",
			"mutatingwebhookconfigurations,validatingwebhookconfigurations", true},
		{"change admission policies", anyChange, "admissionregistration.k8s.io",
			"mutatingadmissionpolicies,mutatingadmissionpolicybindings," +
				"validatingadmissionpolicies,validatingadmissionpolicybindings", true},
		{"run Pods as any ServiceAccount of their namespace", anyWrite, "", "pods,replicationcontrollers", false},
		{"run Pods as any ServiceAccount of their namespace", anyWrite, "apps",
			"daemonsets,deployments,replicasets,statefulsets", false},
		{"run Pods as any ServiceAccount of their namespace", anyWrite, "batch", "cronjobs,jobs", false},
		{"give their rights to others", anyWrite, rbacv1.GroupName, "clusterroles,clusterrolebindings", true},
		{"give their rights to others", anyWrite, rbacv1.GroupName, "roles,rolebindings", false},
		{"mount files of nodes", "create", "", "persistentvolumes", true},
		{"lower the Pod Security of namespaces", "update,patch", "", "namespaces", false},
		{"apply any object with the rights of a controller", anyWrite, deliveryGroups, "", false},
		{"apply any object with the rights of a controller", anyWrite, "argoproj.io",
			"applications,applicationsets,appprojects", false},
		{"run Pods as any ServiceAccount of their namespace", anyWrite, podGroups, "", false},
		{"run privileged Pods", "use", "security.openshift.io,policy,extensions",
			"securitycontextconstraints,podsecuritypolicies", false},
		{"change admission policies", anyChange, "constraints.gatekeeper.sh,kyverno.io,policies.kyverno.io," +
			"policies.kubewarden.io,security.openshift.io,templates.gatekeeper.sh", "", false},
		{"answer all requests of an API", anyWrite, "apiregistration.k8s.io", "apiservices", true},
		{"read and change objects of custom kinds by webhooks, or delete all of a kind", anyChange,
			"apiextensions.k8s.io", "customresourcedefinitions", true},
		{"get rights in the cloud", anyWrite, "iam.*", "", false},
		{"give Pods rights in the cloud", "update,patch", "", "serviceaccounts", false},
		{"read any secret of a store", anyWrite,
			"external-secrets.io,secrets-store.csi.x-k8s.io,secrets.hashicorp.com", "", false},
		{"place Pods on any node, past taints and scheduling gates", "create", "", "bindings,pods/binding", false},
	}

	lesser = []power{
		{"reach all ports of Pods and Services, past NetworkPolicies", "get,create,update,patch,delete", "",
			"pods/proxy,services/proxy", false},
		{"reach all ports of Pods, past NetworkPolicies", "get,create", "", "pods/portforward", false},
		{"redirect connections of Services", anyWrite, ",discovery.k8s.io", "endpoints,endpointslices,services", false},
		{"redirect requests from outside of the cluster", anyWrite, routeGroups, "", false},
		{"redirect requests from outside of the cluster", anyWrite, "extensions,networking.k8s.io",
			"ingressclasses,ingresses", false},
		{"open and block connections of Pods", anyChange, "cilium.io,crd.antrea.io,crd.projectcalico.org," +
			"policy.networking.k8s.io,projectcalico.org,security.istio.io", "", false},
		{"open and block connections of Pods", anyChange, "networking.k8s.io", "networkpolicies", false},
		{"change the configuration of Pods and, in kube-system, of the cluster", anyWrite, "", "configmaps", false},
		{"get certificates of their issuers", anyWrite, "cert-manager.io", "", false},
		{"delete data", "delete,deletecollection", "", "namespaces,persistentvolumeclaims,persistentvolumes", false},
		{"decide who stores data", anyChange, "snapshot.storage.k8s.io,storage.k8s.io",
			"csidrivers,storageclasses,volumesnapshotclasses", true},
		{"read logs and files of nodes", "get", "", "nodes/checkpoint,nodes/log", true},
		{"read what Pods log", "get", "", "pods/log", false},
		{"stop Pods", "create", ",policy", "pods/eviction", false},
		{"stop Pods", "delete,deletecollection", "", "nodes,pods,replicationcontrollers", false},
		{"stop Pods", "delete,deletecollection", "apps", "daemonsets,deployments,replicasets,statefulsets", false},
		{"stop Pods", "update,patch", "apps", "deployments/scale,replicasets/scale,statefulsets/scale", false},
		{"stop Pods", "update,patch", "", "nodes", true},
		{"lift the limits of namespaces", anyChange, "", "limitranges,resourcequotas", false},
		{kind.Say("use all that %s stands for, now and later", "*"), anyStar, "", "", false},
	}
)

// Groups whose controllers make objects of what users write, make Pods, or serve requests from outside.
const (
	deliveryGroups = "apiextensions.crossplane.io,fleet.cattle.io,fluxcd.controlplane.io,helm.cattle.io," +
		"helm.toolkit.fluxcd.io,kappctrl.k14s.io,kro.run,kustomize.toolkit.fluxcd.io,operators.coreos.com," +
		"pkg.crossplane.io,source.toolkit.fluxcd.io"
	podGroups = "actions.github.com,apps.kruise.io,argoproj.io,batch.volcano.sh,jobset.x-k8s.io,keda.sh," +
		"kubeflow.org,kubevirt.io,monitoring.coreos.com,ray.io,serving.knative.dev,sparkoperator.k8s.io,tekton.dev"
	routeGroups = "configuration.konghq.com,gateway.envoyproxy.io,gateway.networking.k8s.io,k8s.nginx.org," +
		"networking.istio.io,projectcontour.io,route.openshift.io,traefik.io"
)

// Lists of verbs.
const (
	anyWrite  = "create,update,patch"
	anyChange = anyWrite + ",delete,deletecollection"
)

func severityOf(power int) effect.Severity {
	switch {
	case power == powerOverNamespace:
		return effect.Grave
	case power < len(utmost):
		return effect.Utmost
	case power < len(utmost)+len(grave):
		return effect.Grave
	}
	return effect.Serious
}

// The powers of rules with certain verbs or resources.
const (
	anyImpersonation = "impersonate*"
	anyStar          = "*"
)

// isIn reports whether a rule has a power in a scope, for any name of an object.
func (p power) isIn(r rbacv1.PolicyRule, scope string) bool {
	switch {
	case p.verbs == "":
		return false
	case p.verbs == anyStar:
		return slices.Contains(r.Verbs, "*") || slices.Contains(r.Resources, "*")
	case p.verbs == anyImpersonation:
		return slices.ContainsFunc(r.Verbs, func(verb string) bool { return strings.HasPrefix(verb, "impersonate") })
	case p.isOfCluster && scope != "":
		return false
	}
	hasAny := func(list string, matches func(string) bool) bool {
		return slices.ContainsFunc(strings.Split(list, ","), matches)
	}
	namesResource := func(resource string) bool {
		_, subresource, _ := strings.Cut(resource, "/")
		return helpers.ResourceMatches(&r, resource, subresource)
	}
	if p.resources == "" {
		isAny := slices.Contains(r.APIGroups, "*") && slices.Contains(r.Resources, "*")
		return hasAny(p.verbs, func(verb string) bool { return helpers.VerbMatches(&r, verb) }) &&
			(isAny || hasAny(p.groups, func(group string) bool { return namesGroup(r, group) }))
	}
	return hasAny(p.groups, func(group string) bool { return helpers.APIGroupMatches(&r, group) }) &&
		hasAny(p.verbs, func(verb string) bool { return helpers.VerbMatches(&r, verb) }) &&
		hasAny(p.resources, namesResource)
}

func namesGroup(r rbacv1.PolicyRule, group string) bool {
	prefix, isPrefix := strings.CutSuffix(group, "*")
	return slices.Contains(r.APIGroups, group) || isPrefix &&
		slices.ContainsFunc(r.APIGroups, func(other string) bool { return strings.HasPrefix(other, prefix) })
}
