package review

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/diff"
)

// manifests are the objects in YAML documents.
func manifests(t *testing.T, documents string) (manifests []diff.Manifest) {
	t.Helper()
	for document := range strings.SplitSeq(documents, "---\n") {
		u := &unstructured.Unstructured{}
		encoded, err := yaml.YAMLToJSON([]byte(document))
		if err == nil && strings.TrimSpace(document) != "" {
			err = u.UnmarshalJSON(encoded)
		}
		if err != nil {
			t.Fatal(err, document)
		}
		if u.Object != nil {
			manifests = append(manifests, diff.Manifest{Unstructured: u})
		}
	}
	return manifests
}

func changed(t *testing.T, before, after string) diff.Environment {
	t.Helper()
	return diff.Objects(gatehouse.All(), "prod", manifests(t, before), manifests(t, after))
}

const (
	deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: ns}, spec: {replicas: REPLICAS, STRATEGY selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {MORE containers: [{name: c, image: IMAGE, FIELD}]}}}}`
	role       = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r, labels: {LABEL}}, rules: [{apiGroups: [APIGROUPS], resources: [RESOURCES], verbs: [VERBS]}]}`
	binding    = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ROLE}, subjects: [SUBJECTS]}`
	alice, bob = `{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}`, `{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}`
	namespace  = `{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {LABEL}, annotations: {MARK}}}`
	cronJob    = `{apiVersion: batch/v1, kind: CronJob, metadata: {name: a, namespace: ns}, spec: {schedule: "0 3 * * *", suspend: SUSPEND, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}`
	job        = `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: ns}, spec: {suspend: SUSPEND, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, command: [make, it]}]}}}}`
	volumeSet  = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, namespace: ns}, spec: {serviceName: a, persistentVolumeClaimRetentionPolicy: {whenDeleted: POLICY}, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}, volumeClaimTemplates: [{metadata: {name: d}}]}}`
	service    = `{apiVersion: v1, kind: Service, metadata: {name: s, namespace: ns}, spec: {type: TYPE, selector: {app: SELECTOR}, ports: [{port: PORT}]}}`
	ingress    = `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i, namespace: ns}, spec: {rules: [{host: HOST, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}}]}}`
	quota      = `{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: ns, labels: {LABEL}, annotations: {MARK}}, spec: {hard: {pods: "PODS"}}}`
)

// with is a manifest with values for its words in upper case: WORD=VALUE. Those of which
// nothing is said have a value that does not matter.
func with(manifest string, values ...string) string {
	for _, value := range slices.Concat(values, []string{"REPLICAS=2", "STRATEGY=", "IMAGE=i", "MORE=", "FIELD=", "LABEL=", "MARK=", "APIGROUPS=apps", "RESOURCES=deployments", "VERBS=get", "ROLE=r", "SUBJECTS=" + alice, "SUSPEND=false", "POLICY=Retain", "PODS=1", "TYPE=ClusterIP", "SELECTOR=a", "PORT=80", "HOST=a.org"}) {
		word, replacement, _ := strings.Cut(value, "=")
		manifest = strings.ReplaceAll(manifest, word, replacement)
	}
	return manifest
}

// marked is a Job with an annotation and, where it is given, another command.
func marked(manifest, annotation string, command ...string) string {
	manifest = strings.Replace(with(manifest), "namespace: ns}", "namespace: ns, annotations: {"+annotation+"}}", 1)
	return strings.Replace(manifest, "make, it", strings.Join(slices.Concat(command, []string{"it"}), ", "), 1)
}

// scaler is an autoscaler of a Deployment, with bounds.
func scaler(bounds string) string {
	return "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: ns}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}, minReplicas: " + bounds + "}}"
}

// unsized and limited are Deployments that say nothing of how many Pods they have.
var (
	unsized = strings.Replace(with(deployment), "replicas: 2,", "", 1)
	limited = strings.Replace(with(deployment, "FIELD=resources: {limits: {memory: 1Gi}}"), "replicas: 2,", "", 1)
)

func TestEffects(t *testing.T) {
	tests := []struct {
		name, before, after string
		want                []string
	}{
		{"another image", with(deployment), with(deployment, "IMAGE=j"), []string{"Deployment ns/a: Pods are replaced: image i → j"}},
		{"a default that is written", with(deployment), with(deployment, "FIELD=terminationMessagePath: /dev/termination-log"), nil},
		{"another environment", with(deployment), with(deployment, "FIELD=env: [{name: A, value: b}]"), []string{"Deployment ns/a: Pods are replaced: another environment"}},
		{"another node", with(deployment), with(deployment, "MORE=nodeSelector: {a: b},"), []string{"Deployment ns/a: Pods are replaced: another nodeSelector"}},
		{"all that is new", with(deployment), strings.Replace(with(deployment, "IMAGE=j", "MORE=dnsPolicy: Default,", "FIELD=command: [x], workingDir: /tmp"), "REPLICAS", "2", 1), []string{"Deployment ns/a: Pods are replaced: image i → j, another command, another workingDir, another dnsPolicy"}},
		{"another container beside another image", with(deployment), strings.Replace(with(deployment, "IMAGE=j"), "containers: [", "containers: [{name: new, image: x}, ", 1), []string{"Deployment ns/a: Pods are replaced: image i → j, other containers"}},
		{"all at once", with(deployment, "STRATEGY=strategy: {type: Recreate},"), with(deployment, "STRATEGY=strategy: {type: Recreate},", "IMAGE=j"), []string{"Deployment ns/a: all Pods are replaced at once: image i → j (its strategy is Recreate: none runs meanwhile)"}},
		{"more Pods", with(deployment), with(deployment, "REPLICAS=3"), []string{"Deployment ns/a: 2 → 3 Pods"}},
		{"no Pod", with(deployment), with(deployment, "REPLICAS=0"), []string{"Deployment ns/a: 2 → 0 Pods (nothing of it runs any more)"}},
		{"a workload that goes", with(deployment), "", []string{"Deployment ns/a: is removed with its Pods (what it serves is gone)"}},
		{"memory", with(deployment), with(deployment, "FIELD=resources: {limits: {memory: 1536Mi, cpu: 250m}}"), []string{
			"Deployment ns/a: Pods are replaced: other resources",
			"Namespace ns: asks for 3Gi more memory: 0 → 3Gi, and 500m more CPU: 0 → 500m",
		}},
		{"of a sidecar", with(deployment), with(deployment, "MORE=initContainers: [{name: s, image: s, restartPolicy: Always, resources: {requests: {memory: 100Mi}}}],"), []string{
			"Deployment ns/a: Pods are replaced: other containers",
			"Namespace ns: asks for 200Mi more memory: 0 → 200Mi",
		}},
		{"privileged", with(deployment), with(deployment, "MORE=hostNetwork: true,"), []string{"Deployment ns/a: sets spec.template.spec.hostNetwork (its Pods may reach beyond their containers (Pod Security baseline forbids it))"}},
		{"privileged as before", with(deployment, "MORE=hostNetwork: true,"), with(deployment, "MORE=hostNetwork: true,", "REPLICAS=3"), []string{"Deployment ns/a: 2 → 3 Pods"}},
		{"a selector", with(deployment), strings.Replace(with(deployment, "IMAGE=j"), "{a: b}", "{b: c}", 2), []string{"Deployment ns/a: the API server refuses this change: spec.selector: field is immutable (Flux and Argo CD fail to apply it: with another name it is a new one)"}},

		{"a CronJob", "", with(cronJob), []string{"CronJob ns/a: runs on the schedule 0 3 * * *: i"}},
		{"a CronJob that is suspended", "", with(cronJob, "SUSPEND=true"), []string{"CronJob ns/a: is suspended, and would run on the schedule 0 3 * * *: i"}},
		{"a CronJob that goes", with(cronJob), "", []string{"CronJob ns/a: does not run any more on the schedule 0 3 * * *"}},
		{"a Job", "", with(job), []string{"Job ns/a: runs at once: make it"}},
		{"a Job that is suspended", "", with(job, "SUSPEND=true"), nil},

		{"a Job that is resumed", with(job, "SUSPEND=true"), with(job), []string{"Job ns/a: is resumed and runs at once: make it"}},
		{"a Job that is to wait", with(job), with(job, "SUSPEND=true"), []string{"Job ns/a: is suspended: its Pods are stopped, unless it is done"}},
		{"a Job of others", "", strings.Replace(with(job), "batch/v1", "batch.volcano.sh/v1alpha1", 1), nil},
		{"a Job that Flux replaces", marked(job, "kustomize.toolkit.fluxcd.io/force: enabled"), marked(job, "kustomize.toolkit.fluxcd.io/force: enabled", "make, more"), []string{"Job ns/a: the API server refuses this change: spec.template: field is immutable (Flux deletes it and makes it anew, by kustomize.toolkit.fluxcd.io/force; without that it is not applied)"}},
		{"a Job that is a hook", marked(job, "helm.sh/hook: pre-upgrade"), marked(job, "helm.sh/hook: pre-upgrade", "make, more"), []string{"Job ns/a: the API server refuses this change: spec.template: field is immutable (Argo CD deletes it and makes it anew, by helm.sh/hook; without that it is not applied)"}},
		{"another schedule", with(cronJob), strings.Replace(with(cronJob), "0 3", "* *", 1), []string{"CronJob ns/a: runs on the schedule * * * * * instead of 0 3 * * *"}},
		{"another time zone", with(cronJob), strings.Replace(with(cronJob), "suspend", "timeZone: Europe/Berlin, suspend", 1), []string{"CronJob ns/a: runs on the schedule 0 3 * * * Europe/Berlin instead of 0 3 * * *"}},
		{"a CronJob with another image", with(cronJob), strings.Replace(with(cronJob), "image: i", "image: j", 1), []string{"CronJob ns/a: runs on the schedule 0 3 * * * with image i → j: j"}},
		{"a CronJob that is to wait", with(cronJob), with(cronJob, "SUSPEND=true"), []string{"CronJob ns/a: is suspended: does not run any more on the schedule 0 3 * * *"}},
		{"a CronJob that is resumed", with(cronJob, "SUSPEND=true"), with(cronJob), []string{"CronJob ns/a: is resumed: runs on the schedule 0 3 * * *: i"}},
		{"another history of a CronJob", with(cronJob), strings.Replace(with(cronJob), "suspend", "successfulJobsHistoryLimit: 1, suspend", 1), nil},

		{"a workload", "", with(deployment), []string{"Deployment ns/a: starts with 2 Pods"}},
		{"a workload that is paused", with(deployment, "STRATEGY=paused: true,"), with(deployment, "STRATEGY=paused: true,", "IMAGE=j"), nil},
		{"a workload without Pods", with(deployment, "REPLICAS=0"), with(deployment, "REPLICAS=0", "IMAGE=j"), nil},
		{"the first Pods", with(deployment, "REPLICAS=0", "STRATEGY=strategy: {type: Recreate},"), with(deployment, "STRATEGY=strategy: {type: Recreate},", "IMAGE=j"), []string{"Deployment ns/a: 0 → 2 Pods"}},
		{"a probe", with(deployment), with(deployment, "FIELD=readinessProbe: {tcpSocket: {port: 80}}"), []string{"Deployment ns/a: Pods are replaced: another readinessProbe"}},
		{"a partition of all Pods", strings.Replace(with(volumeSet), "selector", "updateStrategy: {rollingUpdate: {partition: 1}}, selector", 1), strings.Replace(strings.Replace(with(volumeSet), "selector", "updateStrategy: {rollingUpdate: {partition: 1}}, selector", 1), "image: i", "image: j", 1), nil},
		{"volumes that go with Pods", strings.Replace(with(volumeSet), "selector", "replicas: 3, selector", 1), strings.Replace(with(volumeSet), "whenDeleted: Retain", "whenScaled: Delete", 1), []string{"StatefulSet ns/a: 3 → 1 Pod (the volumes of 2 Pods are deleted: their data is lost)"}},

		{"an autoscaler", unsized, unsized + "\n---\n" + scaler("1, maxReplicas: 9"), []string{"HorizontalPodAutoscaler ns/h: scales Deployment ns/a from 1 to 9 Pods"}},
		{"an autoscaler in place of a number", with(deployment, "REPLICAS=4", "FIELD=resources: {limits: {memory: 1Gi}}"), strings.Replace(with(deployment, "FIELD=resources: {limits: {memory: 1Gi}}"), "replicas: 2,", "", 1) + "\n---\n" + scaler("2, maxReplicas: 9"), []string{
			"Deployment ns/a: 4 → 1 Pod, until HorizontalPodAutoscaler ns/h scales it to 2 to 9 Pods (fewer Pods run meanwhile: 1 is the default of spec.replicas)",
			"HorizontalPodAutoscaler ns/h: scales Deployment ns/a from 2 to 9 Pods",
			"Namespace ns: asks for 2Gi less memory: 4Gi → 2Gi",
		}},
		{"a number that an autoscaler had", with(deployment, "REPLICAS=4") + "\n---\n" + scaler("1, maxReplicas: 9"), unsized + "\n---\n" + scaler("1, maxReplicas: 9"), nil},
		{"fewer Pods at most", scaler("2, maxReplicas: 9"), scaler("1, maxReplicas: 8"), []string{"HorizontalPodAutoscaler ns/h: scales Deployment ns/a from 1 to 8 Pods instead of 2 to 9 Pods (under load it has fewer Pods than before)"}},
		{"more memory by an autoscaler", limited + "\n---\n" + scaler("1, maxReplicas: 9"), limited + "\n---\n" + scaler("3, maxReplicas: 9"), []string{
			"HorizontalPodAutoscaler ns/h: scales Deployment ns/a from 3 to 9 Pods instead of 1 to 9 Pods",
			"Namespace ns: asks for 2Gi more memory: 1Gi → 3Gi",
		}},
		{"an autoscaler that goes", scaler("1, maxReplicas: 9"), "", []string{"HorizontalPodAutoscaler ns/h: is removed: nothing scales Deployment ns/a any more (it stays at as many Pods as it has, or is told to have)"}},
		{"an autoscaler of KEDA", "", "{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: k, namespace: ns}, spec: {scaleTargetRef: {name: a}, maxReplicaCount: 3}}", []string{"ScaledObject ns/k: scales Deployment ns/a from 0 to 3 Pods"}},

		{"a Service", "", with(service), nil},
		{"a Service that is open", "", with(service, "TYPE=NodePort"), []string{"Service ns/s: gets the type NodePort (its Pods can be reached from outside of the cluster)"}},
		{"a Service that is opened", with(service), with(service, "TYPE=LoadBalancer"), []string{"Service ns/s: gets the type LoadBalancer (its Pods can be reached from outside of the cluster)"}},
		{"a Service that was open", with(service, "TYPE=NodePort"), with(service, "TYPE=LoadBalancer"), nil},
		{"a Service that goes", with(service), "", []string{"Service ns/s: is removed (clients find nothing by its name)"}},
		{"another port", with(service), with(service, "PORT=81"), []string{"Service ns/s: does not serve port 80 any more (clients that use it find nothing there)"}},
		{"other Pods", with(service), with(service, "SELECTOR=b"), []string{"Service ns/s: leads to Pods with app=b instead of app=a"}},
		{"another host", with(ingress), with(ingress, "HOST=b.org"), []string{
			"Ingress ns/i: does not take requests to a.org/ any more (they fail, unless something else takes them)",
			"Ingress ns/i: takes requests to b.org/",
		}},
		{"an Ingress that goes", with(ingress), "", []string{"Ingress ns/i: does not take requests to a.org/ any more (they fail, unless something else takes them)"}},
		{"a Namespace with its Service", with(namespace) + "\n---\n" + with(service), "", []string{"Namespace ns: is removed (everything in it is deleted: 1 object of this repository, and whatever else there is)"}},

		{"volumes that stay", with(volumeSet), "", []string{"StatefulSet ns/a: is removed with its Pods (what it serves is gone; its PersistentVolumeClaims stay)"}},
		{"volumes that go", with(volumeSet, "POLICY=Delete"), "", []string{"StatefulSet ns/a: is removed with its Pods (its volumes are deleted with it: their data is lost)"}},

		{"a role", "", with(role), []string{"ClusterRole r: allows get deployments"}},
		{"a role for one object", "", with(role, "RESOURCES=secrets], resourceNames: [tls"), []string{"ClusterRole r: allows get secrets [tls]"}},
		{"a role that others have", "", with(role, `LABEL=rbac.authorization.k8s.io/aggregate-to-view: "true"`), []string{"ClusterRole r: allows get deployments (its labels add it to another role: whoever has that may do more)"}},
		{"a role that is bound with it", "", with(role) + "\n---\n" + with(binding), []string{"ClusterRoleBinding b: gives ClusterRole r to User alice (they may get deployments in the whole cluster)"}},
		{"a role that was bound", with(binding), with(role) + "\n---\n" + with(binding), []string{"ClusterRole r: allows get deployments (it is bound already: whoever has this role may do more)"}},
		{"a role with power behind others", "", strings.Replace(with(role), "rules: [", "rules: [{apiGroups: [''], resources: [a], verbs: [get]}, {apiGroups: [''], resources: [b], verbs: [get]}, {apiGroups: [''], resources: [secrets], verbs: [get]}, {apiGroups: [''], resources: [c], verbs: ['*']}, ", 1), []string{"ClusterRole r: allows * c, get secrets, get a and 2 more"}},
		{"a wider role", with(role), with(role, "VERBS=get, patch"), []string{"ClusterRole r: allows also patch deployments (whoever has this role may do more)"}},
		{"a narrower role", with(role, "VERBS=get, patch"), with(role), nil},
		{"a role that had it", with(role, `VERBS="*"`), with(role, "VERBS=get"), nil},
		{"a role that is the same in other words", with(role, "VERBS=get, list"), with(role, "VERBS=list, get"), nil},
		{"a binding", "", with(binding), []string{"ClusterRoleBinding b: gives ClusterRole r to User alice (they may do what r may in the whole cluster)"}},
		{"a binding to everything", "", with(binding, "ROLE=cluster-admin"), []string{"ClusterRoleBinding b: gives ClusterRole cluster-admin to User alice (they may do everything in the whole cluster)"}},
		{"somebody else", with(binding) + "\n---\n" + with(role), with(binding, "SUBJECTS="+alice+","+bob) + "\n---\n" + with(role), []string{"ClusterRoleBinding b: gives ClusterRole r to User bob (they may get deployments in the whole cluster)"}},
		{"nobody else", with(binding, "SUBJECTS="+alice+","+bob), with(binding), nil},

		{"a lower level", with(namespace, "LABEL=pod-security.kubernetes.io/enforce: restricted"), with(namespace), []string{"Namespace ns: Pod Security: restricted → privileged (Pods that it refused are let in)"}},
		{"a higher level", with(namespace), with(namespace, "LABEL=pod-security.kubernetes.io/enforce: restricted"), nil},
		{"a Namespace with all that is in it", with(namespace) + "\n---\n" + with(deployment, "FIELD=resources: {limits: {memory: 1Gi}}") + "\n---\n" + with(quota), "", []string{"Namespace ns: is removed (everything in it is deleted: 2 objects of this repository, and whatever else there is)"}},
		{"a Namespace that stays", with(namespace, `MARK=kustomize.toolkit.fluxcd.io/prune: disabled`) + "\n---\n" + with(deployment), "", []string{
			"Deployment ns/a: is removed with its Pods (what it serves is gone)",
			"Namespace ns: stays in the cluster: kustomize.toolkit.fluxcd.io/prune keeps it from being pruned",
		}},
		{"a guard that stays", with(quota, "MARK=argocd.argoproj.io/sync-options: 'Replace=true,Prune=false'"), "", []string{"ResourceQuota ns/q: stays in the cluster: argocd.argoproj.io/sync-options keeps it from being pruned"}},
		{"a guard that goes", with(quota), "", []string{"ResourceQuota ns/q: is removed (nothing limits what its namespace takes)"}},
		{"a guard that changes", with(quota), with(quota, "PODS=2"), []string{"ResourceQuota ns/q: changes (see in the diff that it still guards: without it, nothing limits what its namespace takes)"}},
		{"a label of a guard", with(quota), with(quota, "LABEL=a: b"), nil},
		{"a guard that comes", "", with(quota), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, e := range effectsOf(changed(t, test.before, test.after), time.Time{}) {
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

// What is refused, or cannot be read, is no reason to say nothing of the rest.
func TestUnreadableBefore(t *testing.T) {
	endless := with(deployment, "FIELD=resources: {requests: {memory: 1e999999999}}")
	before, after := manifests(t, endless)[0], manifests(t, with(deployment, "REPLICAS=0"))[0]
	effects := effectsOf(diff.Environment{Kinds: gatehouse.All(), Changes: []diff.Change{{Before: before.Unstructured, After: after.Unstructured}}}, time.Time{})
	if len(effects) != 1 || effects[0].Type != WorkloadScaled {
		t.Error(effects)
	}
}

func TestNoValuesOfSecrets(t *testing.T) {
	secret := func(value string) string {
		return "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: ns}, immutable: true, type: Opaque, data: {key: " + value + "}}"
	}
	r := New([]diff.Environment{changed(t, secret("c2VjcmV0MQ=="), secret("c2VjcmV0Mg=="))}, time.Time{})
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
