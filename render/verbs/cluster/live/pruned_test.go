package live

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/verbs/cluster"
	"example.com/gatehouse/render/verbs/cluster/inventory"
)

const twoMaps = namespaceText + `---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: NS}
data: {k: v}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: NS}
data: {k: v}
`

var oneMap = twoMaps[:strings.LastIndex(twoMaps, "---")]

// kustomizationText is a Kustomization of Flux.
const kustomizationText = `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: NS, namespace: default}
spec: {path: ./PATH, prune: PRUNE}
status:
  inventory:
    entries:
    - {id: NS_a__ConfigMap, v: v1}
    - {id: NS_b__ConfigMap, v: v1}
    - {id: NS_gone__ConfigMap, v: v1}
    - {id: _NS__Namespace, v: v1}
`

func definitionText(group, kind string) string {
	plural := strings.ToLower(kind) + "s"
	return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ` + plural + "." + group + `}
spec:
  group: ` + group + `
  names: {kind: ` + kind + `, listKind: ` + kind + `List, plural: ` + plural + `, singular: ` + strings.ToLower(kind) + `}
  scope: Namespaced
  versions:
  - name: VERSION
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`
}

// define creates a kind.
func (w *world) define(group, version, kind string) {
	w.Helper()
	text := strings.Replace(definitionText(group, kind), "VERSION", version, 1)
	w.apply("test", text)
	w.kubectl("", "wait", "--for=condition=Established", "crd/"+strings.ToLower(kind)+"s."+group)
}

// Objects that a tool would prune show as removed, with a note that names the tool.
func TestPrunedShowTheirTool(t *testing.T) {
	newWorld := func(t *testing.T) *world {
		w := newWorld(t)
		w.define("kustomize.toolkit.fluxcd.io", "v1", "Kustomization")
		w.define("argoproj.io", "v1alpha1", "Application")
		return w
	}
	flux := func(w *world, path, prune string) {
		text := strings.NewReplacer("PATH", path, "PRUNE", prune).Replace(kustomizationText)
		w.apply("flux", text)
		w.apply("kustomize-controller", twoMaps, mark("labels", "kustomize.toolkit.fluxcd.io/name", w.namespace), mark("labels", "kustomize.toolkit.fluxcd.io/namespace", "default"))
	}
	t.Run("Flux", func(t *testing.T) {
		w := newWorld(t)
		flux(w, "rendered/"+w.namespace, "true")
		e := w.compare(oneMap)
		w.want(e, "removed ConfigMap b")
		if note := e.Changes[0].Notes[0]; !strings.Contains(note, "Kustomization default/"+w.namespace+" prunes it at its next sync") {
			t.Error(note)
		}
	})
	t.Run("Flux that does not prune", func(t *testing.T) {
		w := newWorld(t)
		flux(w, "rendered/"+w.namespace, "false")
		w.wantNone(w.compare(oneMap))
	})
	t.Run("Flux that syncs others", func(t *testing.T) {
		w := newWorld(t)
		flux(w, "clusters/prod", "true")
		w.want(w.compare(oneMap), `warning: Kustomization default/NS: syncs "./clusters/prod", which is not rendered/NS alone: the objects that it prunes are not listed`)
	})
	argo := func(w *world) {
		w.apply("argocd-controller", twoMaps, mark("annotations", "argocd.argoproj.io/tracking-id", w.namespace+":/ConfigMap:x/y"))
	}
	t.Run("Argo CD", func(t *testing.T) {
		w := newWorld(t)
		w.apply("argo", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: NS, namespace: default}\n"+
			"spec: {source: {path: rendered/NS}}\nstatus: {resources: [{kind: ConfigMap, version: v1, namespace: NS, name: a}, {kind: ConfigMap, version: v1, namespace: NS, name: b}]}\n")
		argo(w)
		e := w.compare(oneMap)
		w.want(e, "removed ConfigMap b")
		if note := e.Changes[0].Notes[0]; !strings.Contains(note, "prunes it when it is synced with --prune") {
			t.Error(note)
		}
	})
	t.Run("Argo CD elsewhere", func(t *testing.T) {
		w := newWorld(t)
		argo(w)
		w.want(w.compare(oneMap), "warning: Application NS: is not in this cluster: the objects that it prunes are not listed")
	})
	t.Run("render apply", func(t *testing.T) {
		w := newWorld(t)
		w.apply("gatehouse-"+w.namespace, twoMaps)
		w.writeInventory(w.namespace, "NS_a__ConfigMap\nNS_b__ConfigMap\n_NS__Namespace\nNS_x_gone.io_Widget\n")
		e := w.compare(oneMap)
		w.want(e, "removed ConfigMap b")
		if note := e.Changes[0].Notes[0]; note != "render apply --env "+w.namespace+" prunes it" {
			t.Error(note)
		}
	})
}

// writeInventory writes the inventory of an environment. It replaces NS by the namespace.
func (w *world) writeInventory(environment, lines string) {
	w.Helper()
	configMap := &corev1.ConfigMap{Data: map[string]string{inventory.Key: strings.ReplaceAll(lines, "NS", w.namespace)}}
	configMap.ObjectMeta = metav1.ObjectMeta{Namespace: "default", Name: "gatehouse-" + environment, Labels: map[string]string{"app.kubernetes.io/managed-by": "gatehouse"}}
	w.must(w.Create(w.Context(), configMap))
}

// Unmanaged objects, and objects of another compared environment, do not show.
func TestOtherObjectsDoNotShowAsPruned(t *testing.T) {
	w := newWorld(t)
	w.apply("gatehouse-"+w.namespace, oneMap)
	w.kubectl("", "create", "configmap", "stray")
	w.apply("gatehouse-other", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: moved, namespace: NS}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-other, namespace: NS}")
	w.writeInventory("other", "NS_moved__ConfigMap\nNS_of-other__ConfigMap\n")
	w.wantNone(w.compare(oneMap))

	c, err := cluster.New(server.Admin, "a test")
	w.must(err)
	withMoved := renderedAs(w.namespace, w.parse(oneMap+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: moved, namespace: NS}"))
	both, err := compareAll(t.Context(), c, gatehouse.All(), []*render.Rendering{withMoved, renderedAs("other", nil)}, func(string, string) {})
	w.must(err)
	w.wantNone(both[0])
	w.want(both[1], "removed ConfigMap of-other")
}

const renderedPod = `apiVersion: v1
kind: Pod
metadata:
  name: at-0123456789
  namespace: NS
  labels: {cnat.programming-kubernetes.info/at: at}
  annotations: {kustomize.toolkit.fluxcd.io/ssa: IfNotPresent, gatehouse.example.com/digest: DIGEST}
spec:
  restartPolicy: Never
  schedulingGates: [{name: cnat.programming-kubernetes.info/schedule}]
  containers: [{name: command, image: busybox}]
`

// The started Pod of an At is no difference. A missing Pod is added, and the Pod of another spec is
// changed.
func TestStartedPodIsNoDifference(t *testing.T) {
	w := newWorld(t)
	text := namespaceText + "---\n" + strings.Replace(renderedPod, "DIGEST", "sha256:1", 1)
	w.apply("kustomize-controller", text)
	w.wantNone(w.compare(text))

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "at-0123456789"}}
	controller, err := client.New(server.Controller, client.Options{})
	w.must(err)
	open := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"schedulingGates":null}}`))
	w.must(controller.Patch(t.Context(), pod.DeepCopy(), open))
	change := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"activeDeadlineSeconds":5},"metadata":{"labels":{"a":"b"}}}`))
	w.must(w.Patch(t.Context(), pod, change))
	w.wantNone(w.compare(text))

	w.want(w.compare(namespaceText+"---\n"+strings.Replace(renderedPod, "DIGEST", "sha256:2", 1)),
		"changed Pod at-0123456789",
		"# it was rendered from another spec than the one in git, and a sync leaves it alone: delete it, and the next sync creates the one in git",
		"- gatehouse.example.com/digest: sha256:1",
		"+ gatehouse.example.com/digest: sha256:2")

	w.remove(pod)
	w.want(w.compare(text), "added Pod at-0123456789")
}

// An edited At has a new Pod. Defaults of the API server are no difference between the two.
func TestReplacedPodShowsSpecOnly(t *testing.T) {
	w := newWorld(t)
	old := strings.Replace(renderedPod, "DIGEST", "sha256:1", 1)
	w.apply("gatehouse-"+w.namespace, namespaceText+"---\n"+old)
	w.writeInventory(w.namespace, "NS_at-0123456789__Pod\n")
	edited := strings.NewReplacer("sha256:1", "sha256:2", "at-0123456789", "at-abcdefabcd", "busybox", "busybox:2").Replace(old)
	e := w.compare(namespaceText + "---\n" + edited)
	w.want(e, "replaced Pod at-abcdefabcd")
	text := e.Changes[0].Unified()
	for _, sign := range []string{"-", "+"} {
		if n := strings.Count(text, "\n"+sign+" "); n != 4 { // digest, name, image, pull policy
			t.Errorf("%d lines of %s in\n%s", n, sign, text)
		}
	}
}

// Changed values of Secrets are masked.
func TestSecretsAreMasked(t *testing.T) {
	w := newWorld(t)
	const secret = namespaceText + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: NS}\nstringData: {a: hunter1, b: hunter2}\n"
	w.kubectl(strings.ReplaceAll(secret, "NS", w.namespace), "apply", "-f", "-")
	w.kubectl("", "patch", "secret/s", "-p", `{"stringData":{"a":"hunter3","c":"hunter4"}}`)
	e := w.compare(secret)
	w.want(e, "changed Secret s", "# kubectl-patch set data.a, data.c", "- a: '*** (before)'", "+ a: '*** (after)'", "- c: '***'")
	for _, c := range e.Changes {
		for _, word := range []string{"hunter", "aHVudGVy"} {
			if strings.Contains(c.Unified(), word) {
				t.Errorf("values of the Secret:\n%s", c.Unified())
			}
		}
	}
	// An encrypted Secret is not compared.
	sealed := strings.NewReplacer("stringData: {a: hunter1, b: hunter2}", "stringData: {a: 'ENC[AES256_GCM,data:x]'}\nsops: {mac: x}").Replace(secret)
	w.want(w.compare(sealed), "rendered/NS/secret-s.yaml: warning: Secret NS/s: SOPS encrypted it, and it is not compared")
}
