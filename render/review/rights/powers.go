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
	can                     kind.Sentence
	verbs, group, resources string
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
	}

	lesser = []power{
		{kind.Say("use all that %s stands for, now and later", "*"), anyStar, "", "", false},
	}
)

// Lists of verbs.
const (
	anyWrite  = "create,update,patch"
	anyChange = anyWrite + ",delete,deletecollection"
)

// severityOf returns the severity of a power by its index.
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
	return helpers.APIGroupMatches(&r, p.group) &&
		hasAny(p.verbs, func(verb string) bool { return helpers.VerbMatches(&r, verb) }) &&
		hasAny(p.resources, func(resource string) bool {
			_, subresource, _ := strings.Cut(resource, "/")
			return helpers.ResourceMatches(&r, resource, subresource)
		})
}
