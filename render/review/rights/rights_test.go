package rights

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/test/changes"
)

const rbacGroup = "rbac.authorization.k8s.io"

// clusterRole returns a ClusterRole with rules such as "get,list secrets", whose group is core.
func clusterRole(name, more string, rules ...string) string {
	return rbacObject("ClusterRole", name, more, "rules: ["+strings.Join(rulesOf(rules), ", ")+"]")
}

func rulesOf(rules []string) (all []string) {
	for _, rule := range rules {
		verbs, resources, _ := strings.Cut(rule, " ")
		resources, group, _ := strings.Cut(resources, "/")
		all = append(all, fmt.Sprintf("{apiGroups: ['%s'], resources: ['%s'], verbs: ['%s']}", group, strings.ReplaceAll(strings.ReplaceAll(resources, ",", "', '"), ":", "/"), strings.ReplaceAll(verbs, ",", "', '")))
	}
	return all
}

// rbacObject returns a role or binding. A name may begin with a namespace: ns/name.
func rbacObject(kind, name, more, rest string) string {
	namespace, inside, ok := strings.Cut(name, "/")
	if ok {
		name, more = inside, "namespace: "+namespace+", "+more
	}
	return "{apiVersion: " + rbacGroup + "/v1, kind: " + kind + ", metadata: {name: '" + name + "', " + more + "}, " + rest + "}"
}

// bind returns a binding of a role, given as "Role name", to subjects such as "User alice" or "ServiceAccount ns/web".
func bind(name, role string, subjects ...string) string {
	kind := "ClusterRoleBinding"
	if strings.Contains(name, "/") {
		kind = "RoleBinding"
	}
	var all []string
	for _, s := range subjects {
		kind, name, _ := strings.Cut(s, " ")
		field := "apiGroup: " + rbacGroup
		if kind == "ServiceAccount" {
			namespace, inside, _ := strings.Cut(name, "/")
			name, field = inside, "namespace: "+namespace
		}
		all = append(all, fmt.Sprintf("{kind: %s, name: '%s', %s}", kind, name, field))
	}
	roleKind, name2, _ := strings.Cut(role, " ")
	return rbacObject(kind, name, "", "roleRef: {apiGroup: "+rbacGroup+", kind: "+roleKind+", name: '"+name2+"'}, subjects: ["+strings.Join(all, ", ")+"]")
}

func aggregated(name, more string, selectors ...string) string {
	return rbacObject("ClusterRole", name, more, "aggregationRule: {clusterRoleSelectors: ["+strings.Join(selectors, ", ")+"]}")
}

func podsAs(account, more string) string {
	return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: ns}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {serviceAccountName: '" + account + "', " + more + " containers: [{name: c, image: i}]}}}}"
}

func jobAs(account string) string {
	return "{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: ns}, spec: {template: {spec: {restartPolicy: Never, serviceAccountName: " + account + ", containers: [{name: c, image: i}]}}}}"
}

const twoTemplates = "{apiVersion: a.org/v1, kind: Cluster, metadata: {name: c, namespace: ns}, spec: {head: {template: {spec: {containers: [{name: c, image: i}]}}}, worker: {template: {spec: {serviceAccountName: boss, containers: [{name: c, image: i}]}}}}}"

func serviceAccount(name, annotations string) string {
	return "{apiVersion: v1, kind: ServiceAccount, metadata: {name: '" + name + "', namespace: ns, annotations: {" + annotations + "}}}"
}

func documents(all ...string) string { return strings.Join(all, "\n---\n") }

// grantsIn returns the effects on rights, as text.
func grantsIn(t *testing.T, before, after string) []string {
	t.Helper()
	return rightsLines(changes.Between(t, before, after))
}

func rightsLines(e *compare.Comparison) []string {
	effects := Review(e)
	slices.SortStableFunc(effects, effect.Compare)
	return changes.Lines(effects)
}

func TestGrantedRightsAreReported(t *testing.T) {
	const (
		all      = "* */*"
		powerful = " may now do everything in the whole cluster | they can control the whole cluster"
	)
	aggregate := func(to string) string { return "labels: {" + rbacGroup + "/aggregate-to-" + to + ": 'true'}" }
	secrets := func(where string) string {
		return " may now get secrets " + where + " | they can read Secrets"
	}
	view, admin := bind("b", "ClusterRole view", "User alice"), bind("b", "ClusterRole cluster-admin", "User alice")
	for name, test := range map[string]struct {
		before, after string
		want          []string
	}{
		"a role without a binding":           {"", clusterRole("r", "", all), nil},
		"a role that was bound":              {bind("b", "ClusterRole r", "User alice"), documents(bind("b", "ClusterRole r", "User alice"), clusterRole("r", "", all)), []string{"ClusterRole r: User alice" + powerful}},
		"a Role that was bound":              {bind("ns/b", "Role r", "User alice"), documents(bind("ns/b", "Role r", "User alice"), rbacObject("Role", "ns/r", "", "rules: ["+rulesOf([]string{"get secrets"})[0]+"]")), []string{"Role ns/r: User alice" + secrets("in ns")}},
		"a Role of another namespace":        {bind("ns/b", "Role r", "User alice"), documents(bind("ns/b", "Role r", "User alice"), rbacObject("Role", "other/r", "", "rules: []")), nil},
		"a wider role without a binding":     {clusterRole("r", "", "get pods"), clusterRole("r", "", "get pods,secrets"), []string{"ClusterRole r: the subjects of ClusterRole r may now get secrets in the scope of their bindings | they can read Secrets"}},
		"a wider role with a binding":        {documents(clusterRole("r", "", "get pods"), bind("ns/b", "ClusterRole r", "Group g")), documents(clusterRole("r", "", "get pods,secrets"), bind("ns/b", "ClusterRole r", "Group g")), []string{"ClusterRole r: Group g" + secrets("in ns")}},
		"a narrower role":                    {documents(clusterRole("r", "", "get pods,secrets"), bind("b", "ClusterRole r", "Group g")), documents(clusterRole("r", "", "get pods"), bind("b", "ClusterRole r", "Group g")), nil},
		"a role in other words":              {documents(clusterRole("r", "", "get pods", "get secrets"), bind("b", "ClusterRole r", "Group g")), documents(clusterRole("r", "", "get secrets,pods"), bind("b", "ClusterRole r", "Group g")), nil},
		"a removed role":                     {documents(clusterRole("r", "", all), bind("b", "ClusterRole r", "Group g")), bind("b", "ClusterRole r", "Group g"), nil},
		"an unknown role":                    {"", bind("b", "ClusterRole x", "User alice"), []string{"ClusterRoleBinding b: User alice may now use all rights of ClusterRole x in the whole cluster | they can use rights that this environment does not define"}},
		"an unknown role as before":          {bind("b", "ClusterRole x", "User alice"), bind("b", "ClusterRole x", "User alice", "User bob"), []string{"ClusterRoleBinding b: User bob may now use all rights of ClusterRole x in the whole cluster | they can use rights that this environment does not define"}},
		"a binding of rights that they have": {admin, documents(admin, bind("c", "ClusterRole view", "User alice")), nil},
		"another subject":                    {admin, bind("b", "ClusterRole cluster-admin", "User alice", "User bob"), []string{"ClusterRoleBinding b: User bob" + powerful}},
		"one subject less":                   {bind("b", "ClusterRole cluster-admin", "User alice", "User bob"), admin, nil},
		"two causes": {
			documents(clusterRole("a", "", "get pods,services"), bind("x", "ClusterRole a", "User alice")),
			documents(clusterRole("a", "", "get pods"), bind("x", "ClusterRole a", "User alice"), admin),
			[]string{"ClusterRoleBinding b: User alice" + powerful},
		},

		"view": {"", clusterRole("r", aggregate("view"), "get secrets"), []string{"ClusterRole r: the subjects of ClusterRole view may now get secrets in the scope of their bindings | they can read Secrets"}},
		"edit": {"", clusterRole("r", aggregate("edit"), "escalate clusterroles/"+rbacGroup), []string{"ClusterRole r: the subjects of ClusterRole admin, ClusterRole edit may now escalate clusterroles." + rbacGroup + " in the scope of their bindings | they can give themselves any right"}},
		"a label on a role": {documents(view, clusterRole("r", "", "get secrets")), documents(view, clusterRole("r", aggregate("view"), "get secrets")), []string{
			"ClusterRole r: User alice" + secrets("in the whole cluster"),
			"ClusterRole r: the subjects of ClusterRole view may now get secrets in the scope of their bindings | they can read Secrets",
		}},
		"a label for view that says no": {view, documents(view, clusterRole("r", "labels: {"+rbacGroup+"/aggregate-to-view: 'false'}", "get secrets")), nil},
		"a label for a selector of the repository": {
			documents(aggregated("all", "", "{matchLabels: {team: a}}"), clusterRole("r", "labels: {team: b}", "get secrets"), bind("b", "ClusterRole all", "User alice")),
			documents(aggregated("all", "", "{matchLabels: {team: a}}"), clusterRole("r", "labels: {team: a}", "get secrets"), bind("b", "ClusterRole all", "User alice")),
			[]string{"ClusterRole r: User alice" + secrets("in the whole cluster")},
		},
		"a new role that is selected": {
			documents(aggregated("all", "", "{matchExpressions: [{key: team, operator: Exists}]}"), bind("b", "ClusterRole all", "User alice")),
			documents(aggregated("all", "", "{matchExpressions: [{key: team, operator: Exists}]}"), bind("b", "ClusterRole all", "User alice"), clusterRole("r", "labels: {team: a}", all)),
			[]string{"ClusterRole r: User alice" + powerful},
		},
		"a new role that is selected by a selected role": {
			documents(aggregated("top", "", "{matchLabels: {to: top}}"), aggregated("middle", "labels: {to: top}", "{matchLabels: {to: middle}}"), bind("b", "ClusterRole top", "User alice")),
			documents(aggregated("top", "", "{matchLabels: {to: top}}"), aggregated("middle", "labels: {to: top}", "{matchLabels: {to: middle}}"), bind("b", "ClusterRole top", "User alice"), clusterRole("r", "labels: {to: middle}", "get secrets")),
			[]string{
				"ClusterRole r: User alice" + secrets("in the whole cluster"),
				"ClusterRole r: the subjects of ClusterRole middle may now get secrets in the scope of their bindings | they can read Secrets",
			},
		},
		"an aggregation of all roles": {
			documents(aggregated("all", "", "{matchLabels: {team: a}}"), bind("b", "ClusterRole all", "User alice")),
			documents(aggregated("all", "", "{}"), bind("b", "ClusterRole all", "User alice")),
			[]string{"ClusterRole all: User alice" + powerful},
		},
		"own rules of an aggregated role": {documents(bind("b", "ClusterRole r", "User alice"), aggregated("r", "")), documents(bind("b", "ClusterRole r", "User alice"), strings.Replace(aggregated("r", ""), "aggregationRule:", "rules: ["+rulesOf([]string{all})[0]+"], aggregationRule:", 1)), nil},
		"another built-in role":           {"", clusterRole("system:basic-user", "", "get secrets"), []string{"ClusterRole system:basic-user: Group system:authenticated may now get secrets in the whole cluster | all users and all Pods of the cluster can read Secrets", "ClusterRole system:basic-user: the subjects of ClusterRole system:basic-user may now get secrets in the scope of their bindings | they can read Secrets"}},

		"another role, which is refused": {view, admin, []string{"ClusterRoleBinding b: if it is deleted and recreated: User alice" + powerful}},
		"another role by force":          {view, strings.Replace(admin, "name: 'b', ", "name: 'b', annotations: {kustomize.toolkit.fluxcd.io/force: enabled}", 1), []string{"ClusterRoleBinding b: if it is deleted and recreated: User alice" + powerful}},
		"a binding in another namespace": {bind("a/b", "ClusterRole cluster-admin", "User alice"), bind("c/b", "ClusterRole cluster-admin", "User alice"), []string{"RoleBinding c/b: User alice may now do everything in c | they can control all objects of the namespace"}},
		"a RoleBinding and the cluster":  {bind("ns/b", "ClusterRole cluster-admin", "User alice"), documents(bind("ns/b", "ClusterRole cluster-admin", "User alice"), admin), []string{"ClusterRoleBinding b: User alice" + powerful}},
		"two namespaces":                 {"", documents(clusterRole("r", "", "get secrets"), bind("a/b", "ClusterRole r", "User alice"), bind("c/b", "ClusterRole r", "User alice")), []string{"RoleBinding a/b: User alice" + secrets("in a, c")}},
		"a Role by a ClusterRoleBinding": {"", documents(rbacObject("Role", "ns/r", "", "rules: []"), bind("b", "Role r", "User alice")), nil},

		"all users":            {"", bind("b", "ClusterRole cluster-admin", "Group system:authenticated"), []string{"ClusterRoleBinding b: Group system:authenticated may now do everything in the whole cluster | all users and all Pods of the cluster can control the whole cluster"}},
		"everyone":             {"", documents(clusterRole("r", "", "get secrets"), bind("b", "ClusterRole r", "Group system:unauthenticated", "User system:anonymous")), []string{"ClusterRoleBinding b: Group system:unauthenticated may now get secrets in the whole cluster | without a login, all clients that reach the API server can read Secrets", "ClusterRoleBinding b: User system:anonymous may now get secrets in the whole cluster | without a login, all clients that reach the API server can read Secrets"}},
		"all Pods":             {"", bind("b", "ClusterRole cluster-admin", "Group system:serviceaccounts"), []string{"ClusterRoleBinding b: Group system:serviceaccounts may now do everything in the whole cluster | all Pods of the cluster can control the whole cluster"}},
		"Pods of a namespace":  {"", bind("b", "ClusterRole cluster-admin", "Group system:serviceaccounts:ns"), []string{"ClusterRoleBinding b: Group system:serviceaccounts:ns may now do everything in the whole cluster | all Pods in ns can control the whole cluster"}},
		"the account default":  {"", bind("b", "ClusterRole cluster-admin", "ServiceAccount ns/default"), []string{"ClusterRoleBinding b: ServiceAccount ns/default may now do everything in the whole cluster | all Pods in ns without another ServiceAccount can control the whole cluster"}},
		"an account as a user": {"", bind("b", "ClusterRole cluster-admin", "User system:serviceaccount:ns:web"), []string{"ClusterRoleBinding b: ServiceAccount ns/web" + powerful}},
		"an account of the namespace of a binding": {"", strings.Replace(bind("ns/b", "ClusterRole cluster-admin", "ServiceAccount x/web"), ", namespace: x", "", 1), []string{"RoleBinding ns/b: ServiceAccount ns/web may now do everything in ns | they can control all objects of the namespace"}},
		"what the group has":                       {bind("b", "ClusterRole cluster-admin", "Group system:serviceaccounts:ns"), documents(bind("b", "ClusterRole cluster-admin", "Group system:serviceaccounts:ns"), bind("c", "ClusterRole cluster-admin", "ServiceAccount ns/web")), nil},

		"names and URLs":      {"", documents(rbacObject("ClusterRole", "r", "", "rules: [{apiGroups: [''], resources: [secrets], resourceNames: [tls], verbs: [get]}, {nonResourceURLs: [/debug/*], verbs: [get]}]"), bind("b", "ClusterRole r", "User alice")), []string{"ClusterRoleBinding b: User alice may now get secrets [tls], get /debug/* in the whole cluster | they can read Secrets"}},
		"another name":        {documents(rbacObject("ClusterRole", "r", "", "rules: [{apiGroups: [''], resources: [pods], resourceNames: [a], verbs: [get]}]"), bind("b", "ClusterRole r", "User alice")), documents(rbacObject("ClusterRole", "r", "", "rules: [{apiGroups: [''], resources: [pods], resourceNames: [a, b], verbs: [get]}]"), bind("b", "ClusterRole r", "User alice")), []string{"ClusterRole r: User alice may now get pods [b] in the whole cluster | they get more rights"}},
		"all names":           {documents(rbacObject("ClusterRole", "r", "", "rules: [{apiGroups: [''], resources: [pods], resourceNames: [a], verbs: [get]}]"), bind("b", "ClusterRole r", "User alice")), documents(clusterRole("r", "", "get pods"), bind("b", "ClusterRole r", "User alice")), []string{"ClusterRole r: User alice may now get pods in the whole cluster | they get more rights"}},
		"URLs of a namespace": {"", documents(rbacObject("ClusterRole", "r", "", "rules: [{nonResourceURLs: ['*'], verbs: ['*']}]"), bind("ns/b", "ClusterRole r", "User alice")), nil},
		"power behind others": {"", documents(clusterRole("r", "", "get a,b,c,d,e", "create pods", "get secrets"), bind("b", "ClusterRole r", "User alice")), []string{"ClusterRoleBinding b: User alice may now get secrets, create pods, get a, get b and 3 more in the whole cluster | they can read Secrets, run Pods as any ServiceAccount of their namespace"}},
	} {
		if got := grantsIn(t, test.before, test.after); !slices.Equal(got, test.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
}

func TestPowerfulRightsAreNamed(t *testing.T) {
	for rule, want := range map[string]string{
		"get pods":                                       "they get more rights",
		"escalate roles/" + rbacGroup:                    "they can give themselves any right in the namespace",
		"bind clusterroles/" + rbacGroup:                 "they can give themselves any right",
		"impersonate users":                              "they can act as others",
		"impersonate serviceaccounts":                    "they can act as others",
		"impersonate userextras:a/authentication.k8s.io": "they can act as others",
		"* serviceaccounts":                              "they can act as others, give Pods rights in the cloud, use all that * stands for, now and later",
		"create serviceaccounts:token":                   "they can act as ServiceAccounts by their tokens",
		"create *:token":                                 "they can act as ServiceAccounts by their tokens",
		"list secrets":                                   "they can read Secrets",
		"delete secrets/*":                               "they can change Secrets",
		"create pods:exec":                               "they can run commands in Pods",
		"get pods:attach":                                "they can run commands in Pods",
		"patch pods:ephemeralcontainers":                 "they can run commands in Pods",
		"get nodes:proxy":                                "they can run commands on all Pods of nodes",
		"update certificatesigningrequests:approval/certificates.k8s.io":        "they can issue certificates for any user",
		"approve signers/certificates.k8s.io":                                   "they can issue certificates for any user",
		"patch mutatingwebhookconfigurations/admissionregistration.k8s.io":      "they can read and change objects by webhooks",
		"delete validatingadmissionpolicybindings/admissionregistration.k8s.io": "they can change admission policies",
		"create pods":           "they can run Pods as any ServiceAccount of their namespace",
		"create cronjobs/batch": "they can run Pods as any ServiceAccount of their namespace",
		"create helmreleases/helm.toolkit.fluxcd.io":           "they can apply any object with the rights of a controller",
		"patch applications/argoproj.io":                       "they can apply any object with the rights of a controller, run Pods as any ServiceAccount of their namespace",
		"create subscriptions/operators.coreos.com":            "they can apply any object with the rights of a controller",
		"create workflows/argoproj.io":                         "they can run Pods as any ServiceAccount of their namespace",
		"create taskruns/tekton.dev":                           "they can run Pods as any ServiceAccount of their namespace",
		"use securitycontextconstraints/security.openshift.io": "they can run privileged Pods",
		"delete clusterpolicies/kyverno.io":                    "they can change admission policies",
		"create apiservices/apiregistration.k8s.io":            "they can answer all requests of an API",
		"patch customresourcedefinitions/apiextensions.k8s.io": "they can read and change objects of custom kinds by webhooks, or delete all of a kind",
		"create policies/iam.aws.upbound.io":                   "they can get rights in the cloud",
		"create externalsecrets/external-secrets.io":           "they can read any secret of a store",
		"create pods:binding":                                  "they can place Pods on any node, past taints and scheduling gates",
		"get services:proxy":                                   "they can reach all ports of Pods and Services, past NetworkPolicies",
		"create pods:portforward":                              "they can reach all ports of Pods, past NetworkPolicies",
		"patch endpointslices/discovery.k8s.io":                "they can redirect connections of Services",
		"update ingresses/networking.k8s.io":                   "they can redirect requests from outside of the cluster",
		"create httproutes/gateway.networking.k8s.io":          "they can redirect requests from outside of the cluster",
		"delete networkpolicies/networking.k8s.io":             "they can open and block connections of Pods",
		"update configmaps":                                    "they can change the configuration of Pods and, in kube-system, of the cluster",
		"create certificates/cert-manager.io":                  "they can get certificates of their issuers",
		"delete persistentvolumes":                             "they can delete data",
		"get nodes:log":                                        "they can read logs and files of nodes",
		"get pods:log":                                         "they can read what Pods log",
		"create pods:eviction":                                 "they can stop Pods",
		"patch deployments:scale/apps":                         "they can stop Pods",
		"delete resourcequotas":                                "they can lift the limits of namespaces",
		"get helmreleases/helm.toolkit.fluxcd.io":              "they get more rights",
		"get configmaps":                                       "they get more rights",
		"create tokenreviews/authentication.k8s.io":            "they get more rights",
		"get */apps": "they can use all that * stands for, now and later",
		"watch *":    "they can read Secrets, use all that * stands for, now and later",
	} {
		got := grantsIn(t, "", documents(clusterRole("r", "", rule), bind("b", "ClusterRole r", "User alice")))
		if len(got) != 1 || !strings.HasSuffix(got[0], " | "+want) {
			t.Errorf("%s:\n%s\nwant\n%s", rule, got, want)
		}
	}
}

func TestPodsWithRightsOfAnotherAccountAreReported(t *testing.T) {
	boss, web := bind("b", "ClusterRole cluster-admin", "ServiceAccount ns/boss"), serviceAccount("web", "")
	base := documents(boss, web, serviceAccount("boss", ""), bind("c", "ClusterRole secret-reader", "ServiceAccount ns/reader"), clusterRole("secret-reader", "", "get secrets"))
	everything := "which may do everything in the whole cluster | an attacker in a container can control the whole cluster"
	cloud := serviceAccount("cloud", "eks.amazonaws.com/role-arn: 'arn:a'")
	for name, test := range map[string]struct {
		before, after string
		want          []string
	}{
		"another account":           {documents(base, podsAs("web", "")), documents(base, podsAs("boss", "")), []string{"Deployment ns/a: Pods now run as ServiceAccount ns/boss, " + everything}},
		"an account for default":    {documents(base, podsAs("", "")), documents(base, podsAs("boss", "")), []string{"Deployment ns/a: Pods now run as ServiceAccount ns/boss, " + everything}},
		"an account with less":      {documents(base, podsAs("boss", "")), documents(base, podsAs("reader", "")), nil},
		"an account with other":     {documents(base, podsAs("web", "")), documents(base, podsAs("reader", "")), []string{"Deployment ns/a: Pods now run as ServiceAccount ns/reader, which may get secrets in the whole cluster | an attacker in a container can read Secrets"}},
		"an account with no rights": {documents(base, podsAs("boss", "")), documents(base, podsAs("web", "")), nil},
		"an unknown account":        {documents(base, podsAs("web", "")), documents(base, podsAs("x", "")), []string{"Deployment ns/a: Pods now run as ServiceAccount ns/x, which has unknown rights: it is not in this environment | an attacker in a container may get more rights"}},
		"a token":                   {documents(base, podsAs("boss", "automountServiceAccountToken: false,")), documents(base, podsAs("boss", "")), []string{"Deployment ns/a: Pods now run as ServiceAccount ns/boss, " + everything}},
		"an account, refused":       {documents(base, jobAs("web")), documents(base, jobAs("boss")), []string{"Job ns/a: if it is deleted and recreated: Pods now run as ServiceAccount ns/boss, " + everything}},
		"another image":             {documents(base, podsAs("boss", "")), documents(base, strings.Replace(podsAs("boss", ""), "image: i", "image: j", 1)), nil},
		"a new workload":            {base, documents(base, podsAs("boss", "")), []string{"Deployment ns/a: Pods run as ServiceAccount ns/boss, " + everything}},
		"a new workload, no rights": {base, documents(base, podsAs("web", ""), podsAs("default", "")), nil},
		"a new CronJob":             {base, documents(base, "{apiVersion: batch/v1, kind: CronJob, metadata: {name: a, namespace: ns}, spec: {schedule: '0 3 * * *', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, serviceAccountName: boss, containers: [{name: c, image: i}]}}}}}}"), []string{"CronJob ns/a: Pods run as ServiceAccount ns/boss, " + everything}},
		"a second template":         {base, documents(base, twoTemplates), []string{"Cluster ns/c: Pods run as ServiceAccount ns/boss, " + everything}},
		"a new Pod":                 {base, documents(base, "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, spec: {serviceAccount: boss, containers: [{name: c, image: i}]}}"), []string{"Pod ns/p: Pods run as ServiceAccount ns/boss, " + everything}},
		"a powerful group":          {bind("g", "ClusterRole cluster-admin", "Group system:serviceaccounts:ns"), documents(bind("g", "ClusterRole cluster-admin", "Group system:serviceaccounts:ns"), podsAs("default", "")), []string{"Deployment ns/a: Pods run as ServiceAccount ns/default, " + everything}},
		"an account of the cloud":   {documents(cloud, web, podsAs("web", "")), documents(cloud, web, podsAs("cloud", "")), []string{"Deployment ns/a: Pods now run as ServiceAccount ns/cloud, which has the cloud role arn:a | an attacker in a container gets these rights"}},

		"a token that stays":       {base, documents(base, "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: ns, annotations: {kubernetes.io/service-account.name: boss}}, type: kubernetes.io/service-account-token}"), []string{"Secret ns/s: holds a token of ServiceAccount ns/boss that does not expire, which may do everything in the whole cluster | a reader of the Secret can control the whole cluster"}},
		"a token without rights":   {base, documents(base, "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: ns, annotations: {kubernetes.io/service-account.name: web}}, type: kubernetes.io/service-account-token}"), []string{"Secret ns/s: holds a token of ServiceAccount ns/web that does not expire | readers of the Secret can act as it"}},
		"a Secret of another type": {base, documents(base, "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: ns, annotations: {kubernetes.io/service-account.name: boss}}, type: Opaque}"), nil},
	} {
		if got := grantsIn(t, test.before, test.after); !slices.Equal(got, test.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
}

// A binding that GitOps tools keep still gives rights.
func TestKeptBindingsGiveRights(t *testing.T) {
	kept := strings.Replace(bind("b", "ClusterRole r", "User alice"), "name: 'b', ", "name: 'b', annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}", 1)
	got := grantsIn(t, documents(kept, clusterRole("r", "", "get pods")), clusterRole("r", "", "get secrets"))
	if want := []string{"ClusterRole r: User alice may now get secrets in the whole cluster | they can read Secrets"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Comparisons of hostile roles end soon, and say that they are not complete.
func TestComparisonsAreBounded(t *testing.T) {
	var wide, narrow []string
	for i := range 10_000 {
		wide, narrow = append(wide, fmt.Sprintf("get,list r%d", i)), append(narrow, fmt.Sprintf("list,get,watch r%d", i))
	}
	list := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("x%d", i))
		}
		return strings.Join(all, ",")
	}
	alice := bind("b", "ClusterRole r", "User alice")
	var bindings, roles []string
	for i := range 2500 {
		roles = append(roles, clusterRole(fmt.Sprintf("r%d", i), fmt.Sprintf("labels: {a%d: b}", i), "get a", "get b"))
		bindings = append(bindings, bind(fmt.Sprintf("b%d", i), fmt.Sprintf("ClusterRole r%d", i), fmt.Sprintf("User u%d", i)))
	}
	widened := strings.ReplaceAll(documents(roles...), "resources: ['b']", "resources: ['secrets']")
	var loops []string
	for i := range 500 {
		loops = append(loops, aggregated(fmt.Sprintf("loop%d", i), "", "{}"), bind(fmt.Sprintf("loop%d", i), fmt.Sprintf("ClusterRole loop%d", i), "User alice"))
	}
	for name, test := range map[string]struct {
		before, after string
		rows          int
		isPartial     bool
	}{
		"every rule of many":   {documents(alice, clusterRole("r", "", wide...)), documents(alice, clusterRole("r", "", narrow...)), 1, true},
		"one rule of many":     {documents(alice, clusterRole("r", "", wide...)), documents(alice, clusterRole("r", "", append(wide[1:], "get secrets")...)), 1, false},
		"a product":            {alice, documents(alice, clusterRole("r", "", list(1000)+" "+list(1000))), 1, true},
		"many roles":           {documents(append(roles, bindings...)...), documents(append(bindings, widened)...), 2500, false},
		"many bindings":        {documents(roles...), documents(append(roles, bindings...)...), 2500, false},
		"loops of aggregation": {documents(roles...), documents(append(loops, roles...)...), 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := changes.Between(t, test.before, test.after)
			start := time.Now()
			got := Review(w)
			if took := time.Since(start); took > time.Minute { // some seconds on an idle machine
				t.Errorf("takes %s", took)
			}
			if len(got) != test.rows || strings.Contains(string(got[len(got)-1].Risk), "too many") != test.isPartial {
				t.Errorf("%d rows, first %s", len(got), changes.Lines(got[:min(3, len(got))]))
			}
		})
	}
}
