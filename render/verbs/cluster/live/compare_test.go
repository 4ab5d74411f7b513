package live

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const namespaceText = "apiVersion: v1\nkind: Namespace\nmetadata: {name: NS}\n"

// shop has kinds with fields that the API server defaults and allocates.
const shop = namespaceText + `---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: NS}
data: {a: "1", b: "2"}
---
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: NS, annotations: {gatehouse.example.com/public-because: a test}}
stringData: {password: hunter2}
data: {other: b3RoZXI=}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NS, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: web:1
        args: [--one, --two]
        ports: [{containerPort: 80}]
        env: [{name: A, value: "1"}]
        resources: {requests: {cpu: 1000m, memory: 1024Mi}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: NS}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: NS}
spec:
  schedule: 0 3 * * *
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: NS}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: NS}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: NS}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: NS}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: NS}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: sessions, namespace: NS}
spec: {size: 2}
`

// syncers apply an environment like people and tools.
var syncers = map[string]func(w *world, text string){
	"kubectl apply": func(w *world, text string) {
		w.kubectl(strings.ReplaceAll(text, "NS", w.namespace), "apply", "-f", "-")
	},
	"kubectl apply --server-side": func(w *world, text string) {
		w.kubectl(strings.ReplaceAll(text, "NS", w.namespace), "apply", "--server-side", "--force-conflicts", "-f", "-")
	},
	"render apply": func(w *world, text string) { w.apply("gatehouse-"+w.namespace, text) },
	"Flux":         func(w *world, text string) { w.applyAsFlux(text) },
	"Argo CD by the server": func(w *world, text string) {
		w.apply("argocd-controller", text, mark("annotations", "argocd.argoproj.io/tracking-id", "prod:apps/Deployment:a/b"))
	},
	"Argo CD": func(w *world, text string) {
		objects := w.parse(text)
		for _, o := range objects {
			mark("annotations", "argocd.argoproj.io/tracking-id", "prod:apps/Deployment:a/b")(o)
		}
		w.kubectl(yamlOf(w, objects), "apply", "--field-manager", "argocd-controller", "-f", "-")
	},
}

func (w *world) applyAsFlux(text string) {
	w.Helper()
	w.apply("kustomize-controller", text, mark("labels", "kustomize.toolkit.fluxcd.io/name", "prod"), mark("labels", "kustomize.toolkit.fluxcd.io/namespace", "flux-system"))
}

func yamlOf(w *world, objects []*unstructured.Unstructured) string {
	var text strings.Builder
	for _, o := range objects {
		content, err := o.MarshalJSON()
		w.must(err)
		text.Write(content)
		text.WriteString("\n---\n")
	}
	return text.String()
}

// The additions of the API server and of each tool are no differences.
func TestSyncedEnvironmentHasNoDifference(t *testing.T) {
	for name, apply := range syncers {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			apply(w, shop)
			e := w.compare(shop)
			e.Problems = nil
			w.wantNone(e)
		})
	}
}

// forceNote follows the notes on other managers of an object that render apply applied.
const forceNote = "# render apply sets that back with --force-conflicts; otherwise it refuses to change a field that git has, and keeps a field that git lacks"

var setBack = regexp.MustCompile(`(?m)^# kubectl.*`)

// Edits with kubectl, and nothing else, are differences.
func TestEditsByHandShow(t *testing.T) {
	for name, apply := range syncers {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			apply(w, shop)
			w.kubectl("", "scale", "deployment/web", "--replicas=5")
			w.kubectl("", "patch", "configmap/settings", "--type=merge", "-p", `{"data":{"a":"9","c":"3"}}`)
			w.kubectl("", "label", "service/web", "by=hand")
			w.kubectl("", "set", "env", "cronjob/nightly", "X=1")
			w.kubectl("", "delete", "ingress/web")
			e := w.compare(shop)
			e.Problems = nil
			want := []string{
				"changed ConfigMap settings",
				"# kubectl-patch set data.a, data.c",
				`- a: "9"`,
				`+ a: "1"`,
				`- c: "3"`,
				"changed CronJob nightly",
				`# kubectl-set set spec.jobTemplate.spec.template.spec.containers[name="a"].env[name="X"].value`,
				"- - env:",
				"- - name: X",
				`- value: "1"`,
				"- image: a",
				"+ - image: a",
				"changed Deployment web",
				"# kubectl (scale) set spec.replicas",
				"- replicas: 5",
				"+ replicas: 2",
				"added Ingress web",
				"changed Service web",
				"# kubectl-label set metadata.labels.by",
				"- labels:",
				"- by: hand",
			}
			if name == "render apply" {
				want = strings.Split(setBack.ReplaceAllString(strings.Join(want, "\n"), "$0\n"+forceNote), "\n")
			}
			w.want(e, want...)
		})
	}
}

// A note names the reason why render apply would refuse a change.
func TestNoteOnRefusalOfApply(t *testing.T) {
	w := newWorld(t)
	syncers["render apply"](w, shop)
	w.kubectl("", "annotate", "deployment/web", "meta.helm.sh/release-name=other")
	e := w.compare(shop)
	if len(e.Changes) != 1 || !slices.ContainsFunc(e.Changes[0].Notes, func(note string) bool {
		return strings.HasPrefix(note, "render apply refuses it: it belongs to the Helm release other: change it there")
	}) {
		t.Errorf("%+v", e.Changes)
	}
}
