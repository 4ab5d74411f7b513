package known

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/test/changes"
)

const (
	deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: ns, labels: {helm.sh/chart: a-1, app.kubernetes.io/component: web, team: x}}, spec: {replicas: 2, revisionHistoryLimit: 3, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}, annotations: {checksum/config: aa}}, spec: {containers: [{name: c, image: "registry.example.com/web:1.2.0", resources: {requests: {cpu: 100m, memory: 64Mi}}, envFrom: [{configMapRef: {name: settings-aaaa}}]}]}}}}
---
`
	settings = `{apiVersion: v1, kind: ConfigMap, metadata: {name: settings-%, namespace: ns}, data: {level: %}}
---
`
	release = `{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: r, namespace: ns}, spec: {interval: 1h, chart: {spec: {version: 1.2.0}}, values: {tag: a}}}
---
`
	cronJob = `{apiVersion: batch/v1, kind: CronJob, metadata: {name: n, namespace: ns}, spec: {schedule: "0 3 * * *", failedJobsHistoryLimit: 1, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "x:1"}]}}}}}}
---
`
	definition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: as.example.com, annotations: {controller-gen.kubebuilder.io/version: v1}}, spec: {group: example.com, names: {kind: A}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: old, properties: {a: {type: string, default: old}}}}}]}}
---
`
	cluster = `{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, metadata: {name: d, namespace: ns}, spec: {instances: 3, imageName: "ghcr.io/cloudnative-pg/postgresql:16.4"}}
---
`
	text = `{apiVersion: v1, kind: ConfigMap, metadata: {name: t, namespace: ns}, data: {a: "TEXT"}}
---
`
	monitor = `{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: d, namespace: ns}, spec: {replicas: 2, image: "quay.io/prometheus/prometheus:v3.4.0", version: v3.4.0}}
---
`
	set = `{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, metadata: {name: r, namespace: ns}, spec: {generators: [{list: {elements: [{name: x, tag: a}]}}]}}
---
`
	autoscaler = `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a, namespace: ns}}
---
`
	service = `{apiVersion: v1, kind: Service, metadata: {name: a, namespace: ns}, spec: {ports: [{port: 80}]}, status: {loadBalancer: {}}}
---
`
)

var limited = strings.Replace(deployment, "memory: 64Mi}", "memory: 64Mi}, limits: {memory: 1Gi}", 1)

var generated = deployment + strings.ReplaceAll(settings, "%", "aaaa")

// Each row of the table has changes that only it makes known, and near ones that stay unknown.
func TestRowsTellOrdinaryChanges(t *testing.T) {
	type edit []string // old, new, ...
	tested := 0
	for name, test := range map[string]struct {
		object         string
		known, unknown []edit
	}{
		"status": {service, []edit{{"{loadBalancer: {}}", "{loadBalancer: {ingress: [{ip: 192.0.2.1}]}}"}},
			[]edit{{"port: 80", "port: 81"}, {"", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, status: a}", "status: a", "status: b"},
				{"", strings.Replace(service, "status:", "more: {status: a}, status:", 1), "status: a", "status: b"}}},
		"labels of charts": {strings.Replace(release, "namespace: ns", "namespace: ns, labels: {helm.sh/chart: a-1}", 1),
			[]edit{{"chart: a-1", "chart: a-2"},
				{"", labelled("helm.sh/chart: a-1") + selecting("helm.sh/chart: b-1"), "labels: {helm.sh/chart: a-1}", "labels: {helm.sh/chart: a-2}"},
				{"", labelled("chart: r-1") + strings.Replace(release, "name: r", "name: q", 1), "labels: {chart: r-1}", "labels: {chart: r-2}"},
				{"", labelled("chart: r-1") + application("chart: r"), "labels: {chart: r-1}", "labels: {chart: r-2}"},
				{"", labelled("chart: r-1") + strings.Replace(text, "TEXT", `# of the chart\na: 1 # of the chart`, 1), "labels: {chart: r-1}", "labels: {chart: r-2}"}},
			[]edit{{"interval: 1h", "interval: 1m"}, {"helm.sh/chart: a-1", "helm.sh/other: a-1"},
				{"", labelled("helm.sh/chart: a") + selecting("helm.sh/chart: b"), "labels: {helm.sh/chart: a}", "labels: {helm.sh/chart: b}"},
				{"", labelled("helm.sh/chart: a-1") + selecting("helm.sh/chart: a"), "labels: {helm.sh/chart: a-1}", "labels: {helm.sh/chart: a-2}"},
				{"", labelled("helm.sh/chart: a-1") + selecting("helm.sh/chart: ''"), "labels: {helm.sh/chart: a-1}", "labels: {helm.sh/chart: a-2}"},
				{"", labelled("helm.sh/chart: a-1") + selecting("helm.sh/chart: 'b*'"), "labels: {helm.sh/chart: a-1}", "labels: {helm.sh/chart: a-2}"},
				{"", labelled("helm.sh/chart: a-1") + selecting("label_helm_sh_chart: b"), "labels: {helm.sh/chart: a-1}", "labels: {helm.sh/chart: a-2}"},
				{"", labelled("chart: r-1") + strings.Replace(text, "TEXT", `# by\na: chart`, 1), "labels: {chart: r-1}", "labels: {chart: r-2}"},
				{"", labelled("chart: r-1") + strings.Replace(text, "TEXT", `a: 'b # by chart'`, 1), "labels: {chart: r-1}", "labels: {chart: r-2}"},
				{"", labelled("chart: r-1") + application("helm: {valuesObject: {chart: r}}"), "labels: {chart: r-1}", "labels: {chart: r-2}"},
				{"", labelled("helm.sh/chart: a") + selecting("helm.sh/chart: a"), "labels: {helm.sh/chart: a}", "labels: {helm.sh/chart: b}"},
				{"", labelled("helm.sh/chart: a") + "{apiVersion: example.com/v1, kind: Scrape, metadata: {name: s}, spec: {keep: [__meta_kubernetes_pod_label_helm_sh_chart]}}", "labels: {helm.sh/chart: a}", "labels: {helm.sh/chart: b}"},
				{"", labelled("helm.sh/chart: a") + "{apiVersion: v1, kind: ConfigMap, metadata: {name: s}, data: {a: 'keep helm.sh/chart=a'}}", "labels: {helm.sh/chart: a}", "labels: {helm.sh/chart: b}"},
				{"", labelled("helm.sh/chart: a") + "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: a2VlcDogX19tZXRhX2t1YmVybmV0ZXNfcG9kX2xhYmVsX2hlbG1fc2hfY2hhcnQ=}}", "labels: {helm.sh/chart: a}", "labels: {helm.sh/chart: b}"},
				{"", labelled("helm.sh/chart: a") + `{apiVersion: v1, kind: ConfigMap, metadata: {name: s}, data: {a: '{.metadata.labels.helm\.sh/chart}'}}`, "labels: {helm.sh/chart: a}", "labels: {helm.sh/chart: b}"},
				{"", labelled("chart: a") + "{apiVersion: v1, kind: ConfigMap, metadata: {name: s}, data: {a: 'object.metadata.labels.chart != 1'}}", "labels: {chart: a}", "labels: {chart: b}"},
				{"", labelled("chartmuseum: a"), "chartmuseum: a", "chartmuseum: b"}}},
		"notes": {definition, []edit{{"version: v1", "version: v2"}}, []edit{{"controller-gen.kubebuilder.io/version: v1", "example.com/version: v2"},
			{"", strings.Replace(service, "status:", "more: {metadata: {annotations: {description: a}}}, status:", 1), "description: a", "description: b"}}},
		"restarts": {deployment, []edit{{"checksum/config: aa", "checksum/config: bb"}},
			[]edit{{"checksum/config: aa", "vault.hashicorp.com/role: bb"}, {"checksum/config: aa", "checksum/config: aa, checksum/other: bb"}}},
		"versions of images": {deployment, []edit{{"web:1.2.0", "web:1.3.0"}, {"web:1.2.0", "web:1.10.0"}, {"web:1.2.0", "web:1.2.1@sha256:" + strings.Repeat("a", 64)}},
			[]edit{{"web:1.2.0", "web:latest"}, {"web:1.2.0", "web:2.0.0"}, {"web:1.2.0", "web:1.1.0"}, {"registry.example.com", "registry.example.org"}, {"image: \"registry.example.com/web:1.2.0\"", "image: \"registry.example.com/web:1.3.0\", command: [sh]"},
				{"", strings.Replace(deployment, "resources:", `imageBefore: "web:1.2.0", resources:`, 1), `"web:1.2.0"`, `"web:1.3.0"`}}},
		"resources": {deployment, []edit{{"memory: 64Mi", "memory: 96Mi"}, {"cpu: 100m", "cpu: 50m"},
			{"", limited, "limits: {memory: 1Gi}", "limits: {memory: 2Gi}"}, {"", limited + autoscaler, "limits: {memory: 1Gi}", "limits: {memory: 2Gi}"}},
			[]edit{{"memory: 64Mi", "memory: 1Gi"}, {"memory: 64Mi", "memory: 128Mi"}, {"", limited, "limits: {memory: 1Gi}", "limits: {memory: 900Mi}"},
				{"", limited + "{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: ns}}", "limits: {memory: 1Gi}", "limits: {memory: 2Gi}"},
				{"", deployment + autoscaler, "cpu: 100m", "cpu: 50m"}, {"", deployment + "{apiVersion: quota.openshift.io/v1, kind: ClusterResourceQuota, metadata: {name: q}}", "cpu: 100m", "cpu: 50m"},
				{"", strings.Replace(deployment, "kind: Deployment", "kind: DaemonSet", 1), "cpu: 100m", "cpu: 150m"}, {"memory: 64Mi", "memory: 1Mi"}, {"{requests: {cpu: 100m, memory: 64Mi}}", "{}"}, {"requests: {cpu: 100m, memory: 64Mi}", "requests: {cpu: 200m, memory: 64Mi}, limits: {cpu: 200m, memory: 64Mi}"},
				{"", strings.Replace(deployment, "memory: 64Mi", "memory: 64Mi, memoryMore: 64Mi", 1), "memoryMore: 64Mi", "memoryMore: 96Mi"}}},
		"replicas": {deployment, []edit{{"replicas: 2", "replicas: 4"}, {"replicas: 2", "replicas: 3"},
			{"", strings.Replace(deployment, "containers:", "volumes: [{name: t, emptyDir: {}}], containers:", 1), "replicas: 2", "replicas: 3"}},
			[]edit{{"replicas: 2", "replicas: 1"}, {"replicas: 2", "replicas: 0"}, {"", strings.Replace(deployment, "replicas: 2", "replicas: 1", 1), "replicas: 1", "replicas: 2"},
				{"", strings.Replace(deployment, "resources:", "ports: [{containerPort: 80, hostPort: 80}], resources:", 1), "replicas: 2", "replicas: 3"},
				{"", strings.Replace(deployment, "containers:", "volumes: [{name: p, persistentVolumeClaim: {claimName: p}}], containers:", 1), "replicas: 2", "replicas: 3"},
				{"", strings.Replace(deployment, "containers:", "volumes: [{name: p, hostPath: {path: /a}}], containers:", 1), "replicas: 2", "replicas: 3"},
				{"", strings.Replace(deployment, "containers:", "nodeName: node-1, containers:", 1), "replicas: 2", "replicas: 3"},
				{"", strings.Replace(deployment, "resources: {", "resources: {limits: {example.com/gpu: 1}, ", 1), "replicas: 2", "replicas: 3"},
				{"", deployment + "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: ns}}", "replicas: 2", "replicas: 3"}, {"replicas: 2", "replicas: 9"},
				{"", strings.Replace(deployment, "kind: Deployment", "kind: StatefulSet", 1), "replicas: 2", "replicas: 4"},
				{"", strings.Replace(deployment, "replicas: 2", "replicas: 2, replicasMost: 2", 1), "replicasMost: 2", "replicasMost: 4"},
				{"", strings.Replace(deployment, "spec: {", "more: {spec: {replicas: 3}}, spec: {", 1), "replicas: 3", "replicas: 4"}}},
		"histories": {cronJob, []edit{{"failedJobsHistoryLimit: 1", "failedJobsHistoryLimit: 2"}}, []edit{{"0 3 *", "0 4 *"}, {"failedJobsHistoryLimit: 1", "failedJobsHistoryLimit: 0"},
			{"", strings.Replace(cronJob, "batch/v1, kind: CronJob", "example.com/v1, kind: Widget", 1), "failedJobsHistoryLimit: 1", "failedJobsHistoryLimit: 2"},
			{"", strings.Replace(cronJob, "failedJobsHistoryLimit", "failedJobsHistoryLimitMost", 1), "HistoryLimitMost: 1", "HistoryLimitMost: 2"},
			{"", strings.Replace(cronJob, "spec: {", "more: {spec: {failedJobsHistoryLimit: 5}}, spec: {", 1), "failedJobsHistoryLimit: 5", "failedJobsHistoryLimit: 6"}}},
		"names of generated objects": {generated, []edit{{"settings-aaaa", "settings-bbbb"}},
			[]edit{{"configMapRef: {name: settings-aaaa}", "configMapRef: {name: others}"},
				{"", strings.Replace(generated, "{name: settings-aaaa}", "{name: settings-aaaa, nameBefore: settings-aaaa}", 1), "settings-aaaa", "settings-bbbb"}}},
		"descriptions of definitions": {definition, []edit{{"description: old", "description: new"}}, []edit{{"default: old", "default: new"},
			{"default: old}", "default: old}, description: {}"},
			{"", strings.Replace(definition, "default: old", "default: {description: x}", 1), "description: x", "description: y"},
			{"", strings.Replace(definition, "default: old", "default: [{description: x}]", 1), "description: x", "description: y"},
			{"", strings.Replace(definition, "default: old", "enum: [{description: x}]", 1), "description: x", "description: y"},
			{"", strings.Replace(definition, "apiextensions.k8s.io/v1, kind: CustomResourceDefinition", "example.com/v1, kind: Widget", 1), "description: old", "description: new"},
			{"", strings.Replace(definition, "description: old", "descriptionMore: old", 1), "descriptionMore: old", "descriptionMore: new"},
			{"", strings.Replace(definition, "spec: {group", "more: {spec: {versions: [{name: v1, schema: {openAPIV3Schema: {description: x}}}]}}, spec: {group", 1), "description: x", "description: y"}}},
		"versions of charts": {release + service, []edit{{"version: 1.2.0", "version: 1.10.0", "port: 80", "port: 81"}},
			[]edit{{"version: 1.2.0", "version: 1.3.0"}, {"version: 1.2.0", "version: 1.1.0", "port: 80", "port: 81"}, {"version: 1.2.0", "version: '>1'", "port: 80", "port: 81"},
				{"", strings.Replace(release, "helm.toolkit.fluxcd.io/v2, kind: HelmRelease", "example.com/v2, kind: Widget", 1) + service, "version: 1.2.0", "version: 1.3.0", "port: 80", "port: 81"},
				{"", strings.Replace(release, "version: 1.2.0", "versionMore: 1.2.0", 1) + service, "versionMore: 1.2.0", "versionMore: 1.3.0", "port: 80", "port: 81"},
				{"", strings.Replace(release, "spec: {", "more: {spec: {version: 1.2.1}}, spec: {", 1) + service, "version: 1.2.1", "version: 1.2.2", "port: 80", "port: 81"}}},
		"versions of databases": {cluster, []edit{{"postgresql:16.4", "postgresql:16.5"}}, []edit{{"postgresql:16.4", "postgresql:17.0"},
			{"", strings.Replace(cluster, "postgresql.cnpg.io/v1, kind: Cluster", "example.com/v1, kind: Widget", 1), "postgresql:16.4", "postgresql:16.5"},
			{"", strings.Replace(cluster, "imageName", "imageNameMore", 1), "postgresql:16.4", "postgresql:16.5"},
			{"", strings.Replace(cluster, "spec: {", "more: {spec: {imageName: 'a/b:1.1'}}, spec: {", 1), "a/b:1.1", "a/b:1.2"}}},
		"versions of monitors": {monitor, []edit{{"prometheus:v3.4.0", "prometheus:v3.4.1"}, {"prometheus:v3.4.0", "prometheus:v3.5.0"}}, []edit{{"prometheus:v3.4.0", "prometheus:v4.0.0"}, {"prometheus:v3.4.0", "prometheus:v3.3.0"},
			{"", strings.Replace(monitor, "monitoring.coreos.com/v1, kind: Prometheus", "example.com/v1, kind: Prometheus", 1), "prometheus:v3.4.0", "prometheus:v3.4.1"},
			{"", strings.Replace(monitor, "spec: {", "more: {spec: {image: 'a/b:1.1'}}, spec: {", 1), "a/b:1.1", "a/b:1.2"},
			{"", strings.Replace(monitor, "image:", "imageMore:", 1), "prometheus:v3.4.0", "prometheus:v3.4.1"}}},
		"numbers of monitors": {monitor, []edit{{" v3.4.0", " v3.4.1"}}, []edit{{" v3.4.0", " v4.0.0"}, {" v3.4.0", " v3.3.0"},
			{"", strings.Replace(monitor, "monitoring.coreos.com/v1, kind: Prometheus", "example.com/v1, kind: Prometheus", 1), " v3.4.0", " v3.4.1"},
			{"", strings.Replace(monitor, "spec: {", "more: {spec: {version: v1.1.0}}, spec: {", 1), "v1.1.0", "v1.2.0"},
			{"", strings.Replace(monitor, "version:", "versionMore:", 1), " v3.4.0", " v3.4.1"}}},
		"elements of sets": {set + service, []edit{{"tag: a", "tag: b", "port: 80", "port: 81"},
			{"", strings.Replace(set, "list: {elements: [{name: x, tag: a}]}", "matrix: {generators: [{list: {elements: [{tag: a}]}}]}", 1) + service, "tag: a", "tag: b", "port: 80", "port: 81"},
			{"", strings.Replace(set, "spec: {", "spec: {template: {spec: {source: {helm: {values: 'tag: c'}}}}, ", 1) + service, "tag: c", "tag: d", "port: 80", "port: 81"}}, []edit{
			{"", strings.Replace(set, "spec: {", "spec: {template: {spec: {source: {path: c}}}, ", 1) + service, "path: c", "path: d", "port: 80", "port: 81"}, {"tag: a", "tag: b"},
			{"", strings.Replace(set, "argoproj.io/v1alpha1, kind: ApplicationSet", "example.com/v1, kind: Widget", 1) + service, "tag: a", "tag: b", "port: 80", "port: 81"},
			{"list: {elements", "list: {template: {a: b}, elements", "port: 80", "port: 81"},
			{"", strings.Replace(set, "spec: {", "more: {spec: {inputs: [{tag: c}]}}, spec: {", 1) + service, "tag: c", "tag: d", "port: 80", "port: 81"}}},
		"settings of deliveries": {release + service, []edit{{"tag: a", "tag: b", "port: 80", "port: 81"}}, []edit{{"tag: a", "tag: b"},
			{"", strings.Replace(release, "helm.toolkit.fluxcd.io/v2, kind: HelmRelease", "example.com/v2, kind: Widget", 1) + service, "tag: a", "tag: b", "port: 80", "port: 81"},
			{"", strings.Replace(release, "spec: {", "more: {spec: {values: {tag: c}}}, spec: {", 1) + service, "tag: c", "tag: d", "port: 80", "port: 81"}}},
	} {
		i := slices.IndexFunc(rows, func(r row) bool { return r.name == name })
		if i < 0 {
			t.Errorf("no row %s", name)
			continue
		}
		tested++
		isKnown := func(e edit) bool { return isOrdinary(t, name, test.object, e) }
		for _, e := range test.known {
			if !isKnown(e) {
				t.Errorf("%s: %q is not known", name, e)
			}
			all := rows
			rows = slices.Delete(slices.Clone(rows), i, i+1)
			if isKnown(e) {
				t.Errorf("%s: %q is known without the row", name, e)
			}
			rows = all
		}
		for _, e := range test.unknown {
			if isKnown(e) {
				t.Errorf("%s: %q is known", name, e)
			}
		}
		for widening, wide := range widened(rows[i]) {
			all := rows
			rows = slices.Clone(all)
			rows[i] = wide
			if !slices.ContainsFunc(test.unknown, isKnown) {
				t.Errorf("%s: no change tells the row from one %s", name, widening)
			}
			rows = all
		}
	}
	if tested != len(rows) {
		t.Errorf("%d of %d rows have changes", tested, len(rows))
	}
}

// widened returns a row without each of its conditions, and without the ends of its fields.
func widened(r row) map[string]row {
	all := map[string]row{}
	if r.when != nil {
		wide := r
		wide.when = nil
		all["without its condition"] = wide
	}
	if r.kinds != nil {
		wide := r
		wide.kinds = nil
		all["for all kinds"] = wide
	}
	if begin, ok := strings.CutSuffix(r.fields.String(), "$"); ok && !strings.HasSuffix(strings.TrimSuffix(begin, ")"), `\]`) {
		wide := r
		wide.fields = regexp.MustCompile(begin)
		all["for fields that begin so"] = wide
	}
	if end, ok := strings.CutPrefix(r.fields.String(), "^"); ok && !strings.HasPrefix(end, `\*`) {
		wide := r
		wide.fields = regexp.MustCompile(end)
		all["for fields that end so"] = wide
	}
	return all
}

// isOrdinary reports whether all changed fields are known, but those of other rows. An edit that begins with "" is of
// the object that follows.
func isOrdinary(t *testing.T, row, object string, edit []string) bool {
	t.Helper()
	if edit[0] == "" {
		object, edit = edit[1], edit[2:]
	}
	w := change(t, object, edit)
	for _, c := range w.Changes {
		ofOthers := c.InstalledBy.Name != "" || strings.HasPrefix(row, "names") && c.Action() == compare.Replaced
		for _, f := range c.Fields() {
			if !ofOthers && f.Path != "metadata.name" && !Is(w, c, f) {
				return false
			}
		}
	}
	return len(w.Changes) > 0
}

// labelled returns a release with a label, and selecting a Service that selects by one.
func labelled(label string) string {
	return strings.Replace(release, "namespace: ns", "namespace: ns, labels: {"+label+"}", 1)
}

func selecting(label string) string {
	return "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: ns}, spec: {selector: {" + label + "}}}\n---\n"
}

// application returns an Application with a field of its source.
func application(field string) string {
	return "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: b, namespace: ns}, spec: {sources: [{" + field + "}]}}\n---\n"
}

// change returns the world of edited objects. Generated objects have successors, and an object r has the Service.
func change(t *testing.T, object string, edits []string) *compare.Comparison {
	t.Helper()
	after := strings.NewReplacer(edits...).Replace(object)
	e := changes.Between(t, object, after).Differences
	var gone compare.Change
	for i := range e.Changes {
		c := &e.Changes[i]
		if c.After == nil {
			gone = *c
		}
		for _, by := range changes.Objects(t, object) {
			if c.Object().GetKind() == "Service" && by.GetName() == "r" {
				c.InstalledBy = by.ID()
			}
		}
	}
	if gone.Before != nil {
		e.Changes = slices.DeleteFunc(e.Changes, func(c compare.Change) bool { return c.After == nil })
		for i := range e.Changes {
			if e.Changes[i].Before == nil {
				e.Changes[i].Before = gone.Before
			}
		}
	}
	return e.With(compare.Facts{Name: "prod"})
}

// An autoscaler decides about replicas, and a budget states how few there may be.
func TestReplicasWithAMinimumAreUnknown(t *testing.T) {
	const fewer = "replicas: 3"
	four := strings.Replace(deployment, "replicas: 2", "replicas: 4", 1)
	for other, want := range map[string]bool{
		"": true,
		"{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: ns}, spec: {minAvailable: 3}}":    false,
		"{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: other}, spec: {minAvailable: 3}}": true,
		"{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: b, namespace: ns}, spec: {}}":                   false,
	} {
		w := change(t, four+other, []string{"replicas: 4", fewer})
		if got := Is(w, w.Changes[0], w.Changes[0].Fields()[0]); got != want {
			t.Errorf("%s: %t", other, got)
		}
	}
}

// New objects, and objects of kinds that no row names, have no known fields.
func TestOtherObjectsAreUnknown(t *testing.T) {
	const policy = `{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: a}, spec: {replicas: 2, image: "web:1.2.0", description: a, status: a}, status: {ready: true}}`
	for _, e := range [][]string{{"replicas: 2", "replicas: 3"}, {"web:1.2.0", "web:1.3.0"}, {"description: a", "description: b"}, {"status: a", "status: b"}, {"ready: true", "ready: false"}} {
		w := change(t, policy, e)
		if Is(w, w.Changes[0], w.Changes[0].Fields()[0]) {
			t.Errorf("%q is known", e)
		}
	}
	w := changes.Between(t, "", deployment)
	for _, f := range w.Changes[0].Fields() {
		if Is(w, w.Changes[0], f) {
			t.Errorf("%s of a new object is known", f.Path)
		}
	}
}

// The version of a shared chart is known if all its releases change objects.
func TestVersionsOfSharedChartsNeedAllReleases(t *testing.T) {
	const shared = "{apiVersion: source.toolkit.fluxcd.io/v1, kind: OCIRepository, metadata: {name: c, namespace: ns}, spec: {ref: {tag: 1.2.0}}}\n---\n"
	user := strings.Replace(release, "chart: {spec: {version: 1.2.0}}", "chartRef: {kind: OCIRepository, name: c}", 1)
	for others, want := range map[string]bool{user: true, user + strings.Replace(user, "name: r", "name: q", 1): false, "": false} {
		w := change(t, shared+others+service, []string{"tag: 1.2.0", "tag: 1.3.0", "port: 80", "port: 81"})
		for _, c := range w.Changes {
			if c.Object().GetKind() == "OCIRepository" && Is(w, c, c.Fields()[0]) != want {
				t.Errorf("%s: not %t", others, want)
			}
		}
	}
}
