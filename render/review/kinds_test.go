package review

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/test/changes"
)

// Kinds of others that decide about other objects, and fields of families, are risks by their class. A kind that no
// table names is unknown.
func TestKindsOfOthersAreRanked(t *testing.T) {
	object := func(version, kind, spec string) string {
		return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: a, namespace: ns}, spec: {%s}}", version, kind, spec)
	}
	pod := func(annotations, spec string) string {
		return workload("apps/v1", "Deployment", strings.TrimPrefix(spec+", ", ", ")+"containers: [{name: c, image: 'i:1'}]") + "\n---\n" +
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: ns, annotations: {" + annotations + "}}}"
	}
	for name, test := range map[string]struct {
		before, after string
		want          string // a part of the risk, or a rank
	}{
		"a policy that warns":  {object("kyverno.io/v1", "ClusterPolicy", "validationFailureAction: Enforce"), object("kyverno.io/v1", "ClusterPolicy", "validationFailureAction: Audit"), "it decides which objects the cluster admits"},
		"a policy that goes":   {object("constraints.gatekeeper.sh/v1beta1", "K8sRequiredLabels", "a: b"), "", "objects that it refused are admitted"},
		"an exception":         {"", object("kyverno.io/v2", "PolicyException", "a: b"), "it decides which objects the cluster admits"},
		"a role of a cloud":    {object("iam.aws.upbound.io/v1beta1", "Policy", "a: b"), object("iam.aws.upbound.io/v1beta1", "Policy", "a: c"), "rights in the cloud"},
		"a member":             {"", object("iam.cnrm.cloud.google.com/v1beta1", "IAMPolicyMember", "role: owner"), "rights in the cloud"},
		"a member by its kind": {"", object("cloudplatform.gcp.upbound.io/v1beta1", "ProjectIAMMember", "role: owner"), "rights in the cloud"},
		"a route":              {object("traefik.io/v1alpha1", "IngressRoute", "a: b"), object("traefik.io/v1alpha1", "IngressRoute", "a: c"), "who can connect"},
		"an operator":          {object("operators.coreos.com/v1alpha1", "CatalogSource", "image: a"), object("operators.coreos.com/v1alpha1", "CatalogSource", "image: b"), "which objects are applied"},
		"a store of secrets":   {object("external-secrets.io/v1", "ClusterSecretStore", "a: b"), object("external-secrets.io/v1", "ClusterSecretStore", "a: c"), "which secrets are read"},
		"an interval":          {object("external-secrets.io/v1", "ExternalSecret", "refreshInterval: 1h"), object("external-secrets.io/v1", "ExternalSecret", "refreshInterval: 2h"), "unknown"},
		"an issuer":            {object("cert-manager.io/v1", "ClusterIssuer", "a: b"), object("cert-manager.io/v1", "ClusterIssuer", "a: c"), "who signs certificates"},
		"a certificate":        {object("cert-manager.io/v1", "Certificate", "a: b"), object("cert-manager.io/v1", "Certificate", "a: c"), "unknown"},
		"a backup that goes":   {object("velero.io/v1", "Schedule", "a: b"), "", "backups are no longer made"},
		"an alert that goes":   {object("monitoring.coreos.com/v1", "PrometheusRule", "a: b"), "", "raises no alert"},
		"a database that goes": {object("postgresql.cnpg.io/v1", "Cluster", "instances: 3"), "", "its data may be deleted"},
		"a smaller database":   {object("postgresql.cnpg.io/v1", "Cluster", "instances: 3"), object("postgresql.cnpg.io/v1", "Cluster", "instances: 1"), "fewer copies"},
		"a larger database":    {object("postgresql.cnpg.io/v1", "Cluster", "instances: 1"), object("postgresql.cnpg.io/v1", "Cluster", "instances: 3"), "unknown"},
		"data that is deleted": {object("example.org/v1", "Instance", "deletionPolicy: Orphan"), object("example.org/v1", "Instance", "deletionPolicy: Delete"), "data is lost"},
		"data that is kept":    {object("example.org/v1", "Instance", "deletionPolicy: Delete"), object("example.org/v1", "Instance", "deletionPolicy: Orphan"), "unknown"},
		"no protection":        {object("example.org/v1", "Instance", "deletionProtection: true"), object("example.org/v1", "Instance", "deletionProtection: false"), "its data can now be deleted"},
		"another account":      {object("monitoring.coreos.com/v1", "Prometheus", "serviceAccountName: a"), object("monitoring.coreos.com/v1", "Prometheus", "serviceAccountName: b"), "the rights of this ServiceAccount"},
		"the network of nodes": {object("example.org/v1", "Agent", "a: b"), object("example.org/v1", "Agent", "a: b, hostNetwork: true"), "reach beyond their containers"},
		"an image of another":  {object("example.org/v1", "Agent", "image: 'example.org/a:1'"), object("example.org/v1", "Agent", "image: 'example.net/a:1'"), "another repository"},
		"an image of the same": {object("example.org/v1", "Agent", "image: 'example.org/a:1'"), object("example.org/v1", "Agent", "image: 'example.org/a:2'"), "unknown"},
		"any kind":             {object("example.org/v1", "Agent", "a: b"), object("example.org/v1", "Agent", "a: c"), "unknown"},
		"any kind that goes":   {object("example.org/v1", "Agent", "a: b"), "", "unknown"},
		"a claim of another":   {object("v1", "PersistentVolume", "claimRef: {namespace: a, name: b}"), object("v1", "PersistentVolume", "claimRef: {namespace: c, name: b}"), "another claim gets its data"},
		"evictions":            {object("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "updatePolicy: {updateMode: 'Off'}"), object("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "updatePolicy: {updateMode: Auto}"), "its Pods are evicted"},
		"a role of Vault":      {pod("vault.hashicorp.com/role: a", ""), pod("vault.hashicorp.com/role: b", ""), "other secrets"},
		"outside of the mesh":  {pod("a: b", ""), pod("a: b, sidecar.istio.io/inject: 'false'", ""), "outside of the mesh"},
		"outside of policies":  {pod("a: b", ""), pod("a: b, policies.kyverno.io/exclude: 'true'", ""), "policies may no longer apply"},
		"updates without git":  {pod("a: b", ""), pod("a: b, keel.sh/policy: all", ""), "without git"},
		"any annotation":       {pod("a: b", ""), pod("a: c", ""), "unknown"},
		"an image of files":    {pod("", "volumes: [{name: v, image: {reference: 'a:1'}}]"), pod("", "volumes: [{name: v, image: {reference: 'b:1'}}]"), "files from there"},
		"no data":              {pod("", "volumes: [{name: v, persistentVolumeClaim: {claimName: d}}]"), pod("", "volumes: [{name: v, emptyDir: {}}]"), "no longer have this data"},
		"names of hosts":       {pod("", ""), pod("", "hostAliases: [{ip: 192.0.2.1, hostnames: [a]}]"), "to other servers"},
		"before all others":    {pod("", ""), pod("", "priorityClassName: system-node-critical"), "stop those of others"},
		"after some":           {pod("", ""), pod("", "priorityClassName: low"), "unknown"},
		"who can decrypt":      {"{apiVersion: example.org/v1, kind: A, metadata: {name: a}, sops: {age: [{recipient: a}]}}", "{apiVersion: example.org/v1, kind: A, metadata: {name: a}, sops: {age: [{recipient: a}, {recipient: b}]}}", "who can decrypt"},
	} {
		worst := effect.IsKnown
		var said []string
		for _, e := range New(&compare.Diff{Environments: []*compare.Comparison{changes.Between(t, test.before, test.after)}}, time.Time{}).Environments[0].Effects {
			said = append(said, e.Risk.Plain())
			if e.Rank == effect.IsRisk || worst == effect.IsKnown {
				worst = e.Rank
			}
		}
		isTold := string(worst) == test.want || strings.Contains(strings.Join(said, "\n"), test.want)
		if !isTold {
			t.Errorf("%s: %s %q, want %s", name, worst, said, test.want)
		}
	}
}

// Rights to everything come before lost data, this before other risks, and a removed probe comes last of them.
func TestRisksAreInTheOrderOfSeverity(t *testing.T) {
	probe := func(fields string) string {
		return workload("apps/v1", "Deployment", "containers: [{name: c, image: i"+fields+"}]")
	}
	const claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a-data, namespace: ns}, spec: {}}"
	service := func(port int) string {
		return fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: a, namespace: ns}, spec: {ports: [{port: %d}]}}", port)
	}
	before := strings.Join([]string{probe(", livenessProbe: {tcpSocket: {port: 1}}"), claim, service(80)}, "\n---\n")
	after := strings.Join([]string{
		probe(""), service(81),
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: z}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{kind: User, name: eve}]}",
	}, "\n---\n")
	var got []string
	for _, e := range New(&compare.Diff{Environments: []*compare.Comparison{changes.Between(t, before, after)}}, time.Time{}).Environments[0].Effects {
		if e.Rank == effect.IsRisk {
			got = append(got, e.Object.Kind)
		}
	}
	if want := "ClusterRoleBinding PersistentVolumeClaim Service Deployment"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %s", got, want)
	}
}

// The worst risk of many environments is in the first lines, equal rows of environments share a table, and equal
// effects on objects share a row.
func TestEqualRowsAreToldOnce(t *testing.T) {
	deployment := func(name, version, zone string) string {
		return fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s, namespace: ns}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, env: [{name: ZONE, value: %s}], image: 'i:%s'}]}}}}", name, zone, version)
	}
	var environments []*compare.Comparison
	for i := range 30 {
		var before, after []string
		for j := range 20 {
			name, zone := fmt.Sprintf("a-%02d", j), fmt.Sprintf("zone-%d", i)
			before, after = append(before, deployment(name, "1.0", zone)), append(after, deployment(name, "1.1", zone))
		}
		if i == 29 {
			after = append(after, "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: z}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{kind: User, name: eve}]}")
		}
		e := changes.Between(t, strings.Join(before, "\n---\n"), strings.Join(after, "\n---\n"))
		environments = append(environments, e.With(compare.Facts{Name: fmt.Sprintf("e-%02d", i)}))
	}
	r := New(&compare.Diff{Environments: environments}, time.Time{})
	comment := r.Markdown(65536, "cmd")
	if tables := strings.Count(comment, "\n### "); tables != 2 || len(comment) > 10_000 {
		t.Errorf("%d tables in %d bytes:\n%s", tables, len(comment), comment)
	}
	head := strings.Join(strings.SplitN(comment, "\n", 10)[:9], "\n")
	if !strings.Contains(head, "⚠️ 1 risk, `ClusterRoleBinding z` of `e-29` first") || !strings.Contains(comment, "| 20 objects: `Deployment ns/a-00`, ") {
		t.Error(comment)
	}
	if r.Routine().IsRoutine || !r.Environments[0].Routine.IsRoutine || r.Environments[29].Routine.IsRoutine {
		t.Errorf("%+v %+v", r.Routine(), r.Environments[0].Routine)
	}
	want := "1 image of the same repositories, 580 Deployments roll out"
	if got := strings.Join(New(&compare.Diff{Environments: environments[:29]}, time.Time{}).Routine().Reasons, ", "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
