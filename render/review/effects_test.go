package review

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/test/changes"
)

const (
	deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: ns}, spec: {replicas: REPLICAS, STRATEGY selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {MORE containers: [{name: c, image: IMAGE, FIELD}]}}}}`
	role       = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r, labels: {LABEL}}, rules: [{apiGroups: [APIGROUPS], resources: [RESOURCES], verbs: [VERBS]}]}`
	binding    = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ROLE}, subjects: [SUBJECTS]}`
	alice      = `{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}`
	namespace  = `{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {LABEL}, annotations: {MARK}}}`
	cronJob    = `{apiVersion: batch/v1, kind: CronJob, metadata: {name: a, namespace: ns}, spec: {schedule: "0 3 * * *", suspend: SUSPEND, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}`
	job        = `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: ns}, spec: {suspend: SUSPEND, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, command: [make, it]}]}}}}`
	volumeSet  = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, namespace: ns}, spec: {serviceName: a, persistentVolumeClaimRetentionPolicy: {whenDeleted: POLICY}, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}, volumeClaimTemplates: [{metadata: {name: d}}]}}`
	service    = `{apiVersion: v1, kind: Service, metadata: {name: s, namespace: ns}, spec: {type: TYPE, selector: {app: SELECTOR}, ports: [{port: PORT}]}}`
	ingress    = `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i, namespace: ns}, spec: {rules: [{host: HOST, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}}]}}`
	quota      = `{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: ns, labels: {LABEL}, annotations: {MARK}}, spec: {hard: {pods: "PODS"}}}`
)

// fill replaces words in upper case by values, given as WORD=VALUE. Other words get arbitrary values.
func fill(manifest string, values ...string) string {
	for _, value := range slices.Concat(values, []string{"REPLICAS=2", "STRATEGY=", "IMAGE=i", "MORE=", "FIELD=", "LABEL=", "MARK=", "APIGROUPS=apps", "RESOURCES=deployments", "VERBS=get", "ROLE=r", "SUBJECTS=" + alice, "SUSPEND=false", "POLICY=Retain", "PODS=1", "TYPE=ClusterIP", "SELECTOR=a", "PORT=80", "HOST=a.org"}) {
		word, replacement, _ := strings.Cut(value, "=")
		manifest = strings.ReplaceAll(manifest, word, replacement)
	}
	return manifest
}

// marked returns a Job with an annotation and optionally another command.
func marked(manifest, annotation string, command ...string) string {
	manifest = strings.Replace(fill(manifest), "namespace: ns}", "namespace: ns, annotations: {"+annotation+"}}", 1)
	return strings.Replace(manifest, "make, it", strings.Join(slices.Concat(command, []string{"it"}), ", "), 1)
}

// scaler returns an autoscaler of a Deployment, with bounds.
func scaler(bounds string) string {
	return "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: ns}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}, minReplicas: " + bounds + "}}"
}

// unsized and limited are Deployments that say nothing of how many Pods they have.
var (
	unsized = strings.Replace(fill(deployment), "replicas: 2,", "", 1)
	limited = strings.Replace(fill(deployment, "FIELD=resources: {limits: {memory: 1Gi}}"), "replicas: 2,", "", 1)
)

func TestEffectsOfChanges(t *testing.T) {
	tests := []struct {
		name, before, after string
		want                []string
	}{
		{"another image", fill(deployment), fill(deployment, "IMAGE=i:latest"), []string{"Deployment ns/a: Pods are replaced: image i → i:latest"}},
		{"a default that is written", fill(deployment), fill(deployment, "FIELD=terminationMessagePath: /dev/termination-log"), nil},
		{"another env", fill(deployment), fill(deployment, "FIELD=env: [{name: A, value: b}]"), []string{"Deployment ns/a: Pods are replaced: spec.template.spec.containers[c].env[A].name: unset → A; spec.template.spec.containers[c].env[A].value: unset → b"}},
		{"another node", fill(deployment), fill(deployment, "MORE=nodeSelector: {a: b},"), []string{"Deployment ns/a: Pods are replaced: spec.template.spec.nodeSelector.a: unset → b"}},
		{"all that is new", fill(deployment), strings.Replace(fill(deployment, "IMAGE=i:latest", "MORE=dnsPolicy: Default,", "FIELD=command: [x], workingDir: /tmp"), "REPLICAS", "2", 1), []string{"Deployment ns/a: Pods are replaced: spec.template.spec.containers[c].command[0]: unset → x; image i → i:latest; spec.template.spec.containers[c].workingDir: unset → /tmp; spec.template.spec.dnsPolicy: unset → Default"}},
		{"another container beside another image", fill(deployment), strings.Replace(fill(deployment, "IMAGE=i:latest"), "containers: [", "containers: [{name: new, image: x}, ", 1), []string{"Deployment ns/a: new container new runs image x (it shares the network and the volumes of its Pods)", "Deployment ns/a: Pods are replaced: image i → i:latest"}},
		{"all at once", fill(deployment, "STRATEGY=strategy: {type: Recreate},"), fill(deployment, "STRATEGY=strategy: {type: Recreate},", "IMAGE=i:latest"), []string{"Deployment ns/a: all Pods are replaced at once, as its strategy is Recreate: image i → i:latest"}},
		{"more Pods", fill(deployment), fill(deployment, "REPLICAS=3"), []string{"Deployment ns/a: 2 → 3 Pods"}},
		{"no Pod", fill(deployment), fill(deployment, "REPLICAS=0"), []string{"Deployment ns/a: 2 → 0 Pods (all its Pods stop)"}},
		{"a workload that goes", fill(deployment), "", []string{"Deployment ns/a: is removed with its Pods (its service stops)"}},
		{"memory", fill(deployment), fill(deployment, "FIELD=resources: {limits: {memory: 1536Mi, cpu: 250m}}"), []string{"Deployment ns/a: Pods are replaced: spec.template.spec.containers[c].resources.limits.cpu: unset → 250m; spec.template.spec.containers[c].resources.limits.memory: unset → 1536Mi"}},
		{"of a sidecar", fill(deployment), fill(deployment, "MORE=initContainers: [{name: s, image: s, restartPolicy: Always, resources: {requests: {memory: 100Mi}}}],"), []string{"Deployment ns/a: new sidecar s runs image s (it shares the network and the volumes of its Pods)", "Deployment ns/a: Pods are replaced: spec.template.spec.initContainers[s].resources.requests.memory: unset → 100Mi; spec.template.spec.initContainers[s].restartPolicy: unset → Always"}},
		{"privileged", fill(deployment), fill(deployment, "MORE=hostNetwork: true,"), []string{"Deployment ns/a: Pods are replaced: spec.template.spec.hostNetwork: unset → true (its Pods can reach beyond their containers (Pod Security baseline forbids it))"}},
		{"privileged as before", fill(deployment, "MORE=hostNetwork: true,"), fill(deployment, "MORE=hostNetwork: true,", "REPLICAS=3"), []string{"Deployment ns/a: 2 → 3 Pods"}},
		{"a selector", fill(deployment), strings.Replace(fill(deployment, "IMAGE=i:latest"), "{a: b}", "{b: c}", 2), []string{"Deployment ns/a: the API server refuses this change: spec.selector: field is immutable (Flux and Argo CD fail to apply it: rename it to create a new one)"}},

		{"a CronJob", "", fill(cronJob), []string{"CronJob ns/a: runs on the schedule 0 3 * * *: container c runs image i"}},
		{"a CronJob that is suspended", "", fill(cronJob, "SUSPEND=true"), []string{"CronJob ns/a: is suspended: does not run on the schedule 0 3 * * *: container c runs image i"}},
		{"a CronJob that goes", fill(cronJob), "", []string{"CronJob ns/a: no longer runs on the schedule 0 3 * * * (its work is no longer done)"}},
		{"a Job", "", fill(job), []string{"Job ns/a: runs at once: container c runs image i: make it (it runs as soon as the change is synced)"}},
		{"a Job that is suspended", "", fill(job, "SUSPEND=true"), []string{"Job ns/a: is suspended, and would run: container c runs image i: make it"}},

		{"a Job that is resumed", fill(job, "SUSPEND=true"), fill(job), []string{"Job ns/a: is resumed and runs at once: container c runs image i: make it (it runs as soon as the change is synced)"}},
		{"a Job that is to wait", fill(job), fill(job, "SUSPEND=true"), []string{"Job ns/a: is suspended: its Pods are stopped, unless it is done"}},
		{"a Job of others", "", strings.Replace(fill(job), "batch/v1", "batch.volcano.sh/v1alpha1", 1), []string{"Job ns/a: starts Pods: container c runs image i: make it"}},
		{"a Job that Flux replaces", marked(job, "kustomize.toolkit.fluxcd.io/force: enabled"), marked(job, "kustomize.toolkit.fluxcd.io/force: enabled", "make, more"), []string{"Job ns/a: the API server refuses this change: spec.template: field is immutable (Flux or Argo CD deletes and recreates it, because of its annotations or labels)", "Job ns/a: runs at once: container c runs image i: make more it (it runs as soon as the change is synced)"}},
		{"a Job that is a hook", marked(job, "helm.sh/hook: pre-upgrade"), marked(job, "helm.sh/hook: pre-upgrade", "make, more"), []string{"Job ns/a: the API server refuses this change: spec.template: field is immutable (Flux or Argo CD deletes and recreates it, because of its annotations or labels)", "Job ns/a: runs at once: container c runs image i: make more it (it runs as soon as the change is synced)"}},
		{"another schedule", fill(cronJob), strings.Replace(fill(cronJob), "0 3", "* *", 1), nil},
		{"another time zone", fill(cronJob), strings.Replace(fill(cronJob), "suspend", "timeZone: Europe/Berlin, suspend", 1), nil},
		{"a CronJob with another image", fill(cronJob), strings.Replace(fill(cronJob), "image: i", "image: i:latest", 1), []string{"CronJob ns/a: its next runs differ: image i → i:latest"}},
		{"a CronJob that is to wait", fill(cronJob), fill(cronJob, "SUSPEND=true"), []string{"CronJob ns/a: changes spec.suspend: false → true (its work is no longer done)"}},
		{"a CronJob without a date", fill(cronJob), strings.Replace(fill(cronJob), "0 3 * * *", "0 3 30 2 *", 1), []string{"CronJob ns/a: changes spec.schedule: 0 3 * * * → 0 3 30 2 * (this date never comes: its work is not done)"}},
		{"a CronJob of leap years", fill(cronJob), strings.Replace(fill(cronJob), "0 3 * * *", "0 3 29 2 *", 1), nil},
		{"a CronJob that is resumed", fill(cronJob, "SUSPEND=true"), fill(cronJob), nil},
		{"another history of a CronJob", fill(cronJob), strings.Replace(fill(cronJob), "suspend", "successfulJobsHistoryLimit: 1, suspend", 1), nil},

		{"a workload", "", fill(deployment), []string{"Deployment ns/a: starts with 2 Pods: container c runs image i"}},
		{"a workload that is paused", fill(deployment, "STRATEGY=paused: true,"), fill(deployment, "STRATEGY=paused: true,", "IMAGE=i:latest"), []string{"Deployment ns/a: is paused: Pods are replaced when it is resumed: image i → i:latest"}},
		{"a workload without Pods", fill(deployment, "REPLICAS=0"), fill(deployment, "REPLICAS=0", "IMAGE=i:latest"), nil},
		{"the first Pods", fill(deployment, "REPLICAS=0", "STRATEGY=strategy: {type: Recreate},"), fill(deployment, "STRATEGY=strategy: {type: Recreate},", "IMAGE=i:latest"), []string{"Deployment ns/a: 0 → 2 Pods: container c runs image i:latest"}},
		{"a probe", fill(deployment), fill(deployment, "FIELD=readinessProbe: {tcpSocket: {port: 80}}"), []string{"Deployment ns/a: Pods are replaced: spec.template.spec.containers[c].readinessProbe.tcpSocket.port: unset → 80"}},
		{"a partition of all Pods", strings.Replace(fill(volumeSet), "selector", "updateStrategy: {rollingUpdate: {partition: 1}}, selector", 1), strings.Replace(strings.Replace(fill(volumeSet), "selector", "updateStrategy: {rollingUpdate: {partition: 1}}, selector", 1), "image: i", "image: i:latest", 1), []string{"StatefulSet ns/a: Pods are replaced when the partition of its update is below 1: image i → i:latest"}},
		{"volumes that go with Pods", strings.Replace(fill(volumeSet), "selector", "replicas: 3, selector", 1), strings.Replace(fill(volumeSet), "whenDeleted: Retain", "whenScaled: Delete", 1), []string{
			"StatefulSet ns/a: 3 → 1 Pod (the volumes of 2 Pods are deleted: their data is lost)",
			"StatefulSet ns/a: changes spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Retain → unset; spec.persistentVolumeClaimRetentionPolicy.whenScaled: unset → Delete; spec.replicas: 3 → unset (data is lost as soon as its claim or object is deleted: spec.persistentVolumeClaimRetentionPolicy.whenScaled)",
		}},

		{"an autoscaler", unsized, unsized + "\n---\n" + scaler("1, maxReplicas: 9"), nil},
		{"an autoscaler in place of a number", fill(deployment, "REPLICAS=4", "FIELD=resources: {limits: {memory: 1Gi}}"), strings.Replace(fill(deployment, "FIELD=resources: {limits: {memory: 1Gi}}"), "replicas: 2,", "", 1) + "\n---\n" + scaler("2, maxReplicas: 9"), []string{
			"Deployment ns/a: 4 → 1 Pod, until HorizontalPodAutoscaler ns/h scales it to 2 to 9 Pods (fewer Pods run until then: 1 is the default of spec.replicas)",
		}},
		{"a number that an autoscaler had", fill(deployment, "REPLICAS=4") + "\n---\n" + scaler("1, maxReplicas: 9"), unsized + "\n---\n" + scaler("1, maxReplicas: 9"), nil},
		{"fewer Pods at most", scaler("2, maxReplicas: 9"), scaler("1, maxReplicas: 8"), []string{"HorizontalPodAutoscaler ns/h: changes spec.maxReplicas: 9 → 8; spec.minReplicas: 2 → 1 (it decides how many Pods run under load: spec.maxReplicas; fewer Pods run without load: spec.minReplicas)"}},
		{"more memory by an autoscaler", limited + "\n---\n" + scaler("1, maxReplicas: 9"), limited + "\n---\n" + scaler("3, maxReplicas: 9"), nil},
		{"an autoscaler that goes", scaler("1, maxReplicas: 9"), "", []string{"HorizontalPodAutoscaler ns/h: is removed (its workload keeps its current number of Pods, or the number in its spec)"}},
		{"an autoscaler of KEDA", "", "{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: k, namespace: ns}, spec: {scaleTargetRef: {name: a}, maxReplicaCount: 3}}", nil},

		{"a Service", "", fill(service), nil},
		{"a Service that is open", "", fill(service, "TYPE=NodePort"), []string{"Service ns/s: is added with spec.ports[0].port: 80; spec.selector.app: a; spec.type: NodePort (its Pods are reachable from outside of the cluster: spec.type)"}},
		{"a Service that is opened", fill(service), fill(service, "TYPE=LoadBalancer"), []string{"Service ns/s: changes spec.type: ClusterIP → LoadBalancer (its Pods are reachable from outside of the cluster)"}},
		{"a Service that was open", fill(service, "TYPE=NodePort"), fill(service, "TYPE=LoadBalancer"), []string{"Service ns/s: changes spec.type: NodePort → LoadBalancer (its Pods are reachable from outside of the cluster)"}},
		{"a Service that goes", fill(service), "", []string{"Service ns/s: is removed (clients cannot resolve its name)"}},
		{"another port", fill(service), fill(service, "PORT=81"), []string{"Service ns/s: changes spec.ports[0].port: 80 → 81 (it changes who can connect to Pods, where their connections go, or who can read them)"}},
		{"other Pods", fill(service), fill(service, "SELECTOR=b"), []string{"Service ns/s: changes spec.selector.app: a → b (it changes who can connect to Pods, where their connections go, or who can read them)"}},
		{"another host", fill(ingress), fill(ingress, "HOST=b.org"), []string{"Ingress ns/i: changes spec.rules[0].host: a.org → b.org (it changes who can connect to Pods, where their connections go, or who can read them)"}},
		{"an Ingress that goes", fill(ingress), "", []string{"Ingress ns/i: is removed (it changes who can connect to Pods, where their connections go, or who can read them)"}},
		{"a Namespace with its Service", fill(namespace) + "\n---\n" + fill(service), "", []string{"Namespace ns: is removed (all objects in it are deleted, whether they are in this repository or not)"}},

		{"volumes that stay", fill(volumeSet), "", []string{"StatefulSet ns/a: is removed with its Pods (its service stops; its PersistentVolumeClaims stay)"}},
		{"volumes that go", fill(volumeSet, "POLICY=Delete"), "", []string{"StatefulSet ns/a: is removed with its Pods (its volumes are deleted with it: their data is lost)"}},

		{"a lower level", fill(namespace, "LABEL=pod-security.kubernetes.io/enforce: restricted"), fill(namespace), []string{"Namespace ns: changes metadata.labels[pod-security.kubernetes.io/enforce]: restricted → unset (Pods that it refused are let in, or others are refused)"}},
		{"a higher level", fill(namespace), fill(namespace, "LABEL=pod-security.kubernetes.io/enforce: restricted"), []string{"Namespace ns: changes metadata.labels[pod-security.kubernetes.io/enforce]: unset → restricted (Pods that it refused are let in, or others are refused)"}},
		{"a Namespace with all that is in it", fill(namespace) + "\n---\n" + fill(deployment, "FIELD=resources: {limits: {memory: 1Gi}}") + "\n---\n" + fill(quota), "", []string{"Namespace ns: is removed (all objects in it are deleted, whether they are in this repository or not)"}},
		{"a Namespace that stays", fill(namespace, `MARK=kustomize.toolkit.fluxcd.io/prune: disabled`) + "\n---\n" + fill(deployment), "", []string{
			"Deployment ns/a: is removed with its Pods (its service stops)",
			"Namespace ns: stays in the cluster: kustomize.toolkit.fluxcd.io/prune prevents pruning",
		}},
		{"a guard that stays", fill(quota, "MARK=argocd.argoproj.io/sync-options: 'Replace=true,Prune=false'"), "", []string{"ResourceQuota ns/q: stays in the cluster: argocd.argoproj.io/sync-options prevents pruning"}},
		{"a guard that goes", fill(quota), "", []string{"ResourceQuota ns/q: is removed (the resources of its namespace are unlimited)"}},
		{"a guard that changes", fill(quota), fill(quota, "PODS=2"), []string{"ResourceQuota ns/q: changes spec.hard.pods: 1 → 2 (its namespace may use more than before)"}},
		{"a label of a guard", fill(quota), fill(quota, "LABEL=a: b"), nil},
		{"a guard that comes", "", fill(quota), []string{"ResourceQuota ns/q: is added with metadata.annotations: {}; metadata.labels: {}; spec.hard.pods: 1 (new objects beyond it are refused: Pods may not start again: spec.hard.pods)"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, e := range ruled(changes.Between(t, test.before, test.after), time.Time{}) {
				said := e.Object.String() + ": " + e.What.Plain()
				if e.Risk != "" {
					said += " (" + e.Risk.Plain() + ")"
				}
				got = append(got, said)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// The review of a refused or malformed object continues.
func TestReviewAcceptsMalformedObjects(t *testing.T) {
	endless := fill(deployment, "FIELD=resources: {requests: {memory: 1e999999999}}")
	before, after := changes.Objects(t, endless)[0], changes.Objects(t, fill(deployment, "REPLICAS=0"))[0]
	changed := []compare.Change{{Before: before.Unstructured, After: after.Unstructured}}
	found := ruled(compare.Differences{Kinds: gatehouse.All(), Changes: changed}.With(compare.Facts{}), time.Time{})
	if len(found) != 1 || found[0].Type != effect.WorkloadScaled {
		t.Error(found)
	}
}

func TestReviewOmitsValuesOfSecrets(t *testing.T) {
	secret := func(value string) string {
		return "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: ns}, immutable: true, type: Opaque, data: {key: " + value + "}}"
	}
	r := New(&compare.Diff{Environments: []*compare.Comparison{changes.Between(t, secret("c2VjcmV0MQ=="), secret("c2VjcmV0Mg=="))}}, time.Time{})
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{string(encoded), r.Markdown(10000, "")} {
		if !strings.Contains(said, "field is immutable") || strings.Contains(said, "c2VjcmV0") || strings.Contains(said, "secret1") {
			t.Error(said)
		}
	}
}
