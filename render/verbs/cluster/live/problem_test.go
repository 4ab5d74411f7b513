package live

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/verbs/cluster"
)

func TestEmptyClusterGetsEverything(t *testing.T) {
	w := newWorld(t)
	text := namespaceText + "---\n" + strings.Replace(definitionText("empty.example.com", "Widget"), "VERSION", "v1", 1) +
		"---\napiVersion: empty.example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: NS}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS}\n"
	w.want(w.compare(text), "added CustomResourceDefinition widgets.empty.example.com", "added Namespace NS", "added ConfigMap a", "added Widget w")
}

// All problems are reported together, with remedies.
func TestCompareReportsAllProblems(t *testing.T) {
	w := newWorld(t)
	w.apply("x", namespaceText, mark("labels", "pod-security.kubernetes.io/enforce", "restricted"))
	e := w.compare(strings.Replace(namespaceText, "NS}", "NS, labels: {pod-security.kubernetes.io/enforce: restricted}}", 1) + `---
apiVersion: v1
kind: Pod
metadata: {name: root, namespace: NS}
spec: {hostNetwork: true, containers: [{name: a, image: a}]}
---
apiVersion: nobody.example.com/v1
kind: Gadget
metadata: {name: g, namespace: NS}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: nowhere}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: nowhere}
`)
	for _, want := range []string{
		"rendered/NS/pod-root.yaml: Pod NS/root: pods \"root\" is forbidden: violates PodSecurity",
		"Gadget NS/g: the cluster has no kind Gadget of nobody.example.com/v1: add its CustomResourceDefinition to the environment",
		"ConfigMap nowhere/a: namespaces \"nowhere\" not found: add a Namespace to the environment, or create it first",
		"ConfigMap nowhere/b: namespaces \"nowhere\" not found",
	} {
		if want = strings.ReplaceAll(want, "NS", w.namespace); !strings.Contains(problemsOf(e), want) {
			t.Errorf("%s\nwant %s", problemsOf(e), want)
		}
	}
	if len(e.Problems) != 4 || len(e.Changes) > 0 {
		t.Errorf("%d problems, %d changes:\n%s", len(e.Problems), len(e.Changes), problemsOf(e))
	}
}

// An object that the API server refuses until a Namespace changes is an estimate.
func TestChangedNamespaceAllowsEstimate(t *testing.T) {
	w := newWorld(t)
	w.apply("gatehouse-"+w.namespace, namespaceText, mark("labels", "pod-security.kubernetes.io/enforce", "restricted"))
	e := w.compare(namespaceText + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: root, namespace: NS}\nspec: {containers: [{name: a, image: a}]}\n")
	w.want(e, "changed Namespace NS", "- pod-security.kubernetes.io/enforce: restricted", "added Pod root")
	if notes := strings.Join(e.Changes[1].Notes, "\n"); !strings.Contains(notes, "it refuses the object until other changes of the environment are applied: pods \"root\" is forbidden") {
		t.Error(notes)
	}
}

// An object may use fields and versions that the environment adds to its kind.
func TestChangedDefinitionAllowsEstimate(t *testing.T) {
	w := newWorld(t)
	const strict = "x-kubernetes-preserve-unknown-fields: true"
	definition := func(version, fields string) string {
		text := strings.Replace(definitionText("newer.example.com", "Widget"), "VERSION", version, 1)
		return strings.Replace(text, strict, "properties: {spec: {type: object, properties: {"+fields+"}}}", 1)
	}
	widget := func(version, spec string) string {
		return "---\napiVersion: newer.example.com/" + version + "\nkind: Widget\nmetadata: {name: w, namespace: NS}\nspec: {" + spec + "}\n"
	}
	w.apply("gatehouse-"+w.namespace, namespaceText+"---\n"+definition("v1", "size: {type: integer}"))
	w.kubectl("", "wait", "--for=condition=Established", "crd/widgets.newer.example.com")
	w.apply("gatehouse-"+w.namespace, strings.TrimPrefix(widget("v1", "size: 1"), "---\n"))
	w.wantNone(w.compare(namespaceText + "---\n" + definition("v1", "size: {type: integer}") + widget("v1", "size: 1")))

	e := w.compare(namespaceText + "---\n" + definition("v1", "size: {type: integer}, color: {type: string}") + widget("v1", "size: 1, color: red"))
	if len(e.Changes) != 2 || !strings.Contains(e.Changes[1].Unified(), "+  color: red") || !strings.Contains(e.Changes[1].Unified(), "# this is an estimate") {
		t.Errorf("%s%+v", problemsOf(e), e.Changes)
	}
	both := definition("v1", "size: {type: integer}")
	both += strings.Replace("  - name: v1"+strings.SplitAfter(both, "  - name: v1")[1], "v1\n    served: true\n    storage: true", "v2\n    served: true\n    storage: false", 1)
	e = w.compare(namespaceText + "---\n" + both + widget("v2", "size: 2"))
	if len(e.Changes) != 2 || !strings.Contains(e.Changes[1].Unified(), "+apiVersion: newer.example.com/v2") || !strings.Contains(e.Changes[1].Unified(), "+  size: 2") {
		t.Errorf("%s%+v", problemsOf(e), e.Changes)
	}
}

func TestCompareReportsMissingRights(t *testing.T) {
	w := newWorld(t)
	w.apply("gatehouse-"+w.namespace, shop)
	w.kubectl("", "create", "role", "looker", "--verb=get,list", "--resource=*.*")
	w.kubectl("", "create", "rolebinding", "looker", "--role=looker", "--user="+w.namespace)
	e := w.compareAs(w.namespace, shop)
	text := problemsOf(e)
	for _, want := range []string{
		`ConfigMap NS/settings: configmaps "settings" is forbidden: User "NS" cannot patch resource "configmaps" in API group "" in the namespace "NS": ask an administrator of the cluster for that right, or use another --context`,
		`User "NS" cannot patch resource "deployments" in API group "apps" in the namespace "NS"`,
	} {
		if want = strings.ReplaceAll(want, "NS", w.namespace); !strings.Contains(text, want) {
			t.Errorf("%s\nwant %s", text, want)
		}
	}
	if !hasErrors(e) || len(e.Changes) > 0 || strings.Count(text, `cannot patch resource "configmaps"`) != 1 {
		t.Errorf("%d changes\n%s", len(e.Changes), text)
	}
	w.kubectl("", "create", "role", "changer", "--verb=get,list,patch", "--resource=*.*")
	w.kubectl("", "create", "rolebinding", "changer", "--role=changer", "--user="+w.namespace)
	w.kubectl("", "delete", "configmap/settings")
	e = w.compareAs(w.namespace, shop)
	if text := problemsOf(e); !strings.Contains(text, "ConfigMap "+w.namespace+`/settings: configmaps "settings" is forbidden: User "`+w.namespace+`" cannot create resource "configmaps"`) {
		t.Error(text)
	}
	e = w.compareAs("nobody-"+w.namespace, shop)
	if text := problemsOf(e); !strings.Contains(text, `cannot get resource "deployments" in API group "apps"`) || len(e.Changes) > 0 {
		t.Error(text)
	}
}

func TestCompareWarnsOfTerminatingNamespace(t *testing.T) {
	w := newWorld(t)
	w.apply("gatehouse-"+w.namespace, oneMap)
	ns := &unstructured.Unstructured{}
	ns.SetAPIVersion("v1")
	ns.SetKind("Namespace")
	ns.SetName(w.namespace)
	w.remove(ns) // no controller finishes the deletion
	e := w.compare(oneMap)
	if text := problemsOf(e); !strings.Contains(text, "Namespace "+w.namespace+": is being deleted since 20") {
		t.Errorf("%d changes\n%s", len(e.Changes), text)
	}
}

// A controller keeps its fields, unless git has them.
func TestControllersKeepTheirFields(t *testing.T) {
	w := newWorld(t)
	oneMap := strings.Replace(oneMap, "{k: v}", "{k: v, l: m}", 1)
	w.apply("gatehouse-"+w.namespace, oneMap)
	operated := strings.Split(oneMap, "---\n")[1]
	w.apply("operator", strings.Replace(operated, "{k: v, l: m}", "{own: field}", 1))
	w.wantNone(w.compare(oneMap))
	w.apply("operator", strings.Replace(operated, "{k: v, l: m}", "{k: other}", 1))
	w.want(w.compare(oneMap), "changed ConfigMap a",
		"# operator set data.k: a sync sets the value in git, and the manager may set it back; remove the field from git to leave it to that manager",
		forceNote, "- k: other", "+ k: v")
}

// A field that left git is removed, whichever tool applied it.
func TestFieldThatLeftGitIsRemoved(t *testing.T) {
	for name, apply := range syncers {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			apply(w, shop)
			e := w.compare(strings.Replace(shop, `{a: "1", b: "2"}`, `{a: "1"}`, 1))
			e.Problems = nil
			manager := map[string]string{"kubectl apply": "kubectl-client-side-apply", "Argo CD": "argocd-controller"}[name]
			if manager == "" { // server-side apply removes it without a note
				w.want(e, "changed ConfigMap settings", `- b: "2"`)
				return
			}
			w.want(e, "changed ConfigMap settings", "# "+manager+" set data.b", `- b: "2"`)
		})
	}
}

func TestCompareWithoutClusterFailsOnce(t *testing.T) {
	w := newWorld(t)
	away := rest.CopyConfig(server.Admin)
	away.Host = "https://127.0.0.1:1"
	c, err := client.New(away, client.Options{Mapper: w.RESTMapper()})
	w.must(err)
	_, err = compareAll(t.Context(), &cluster.Cluster{Client: c}, gatehouse.All(), []*render.Rendering{renderedAs("prod", w.parse(shop))}, func(string, string) {})
	if err == nil || strings.Count(err.Error(), "refused") != 1 {
		t.Error(err)
	}
}

// The result depends only on git and the cluster.
func TestCompareIsDeterministic(t *testing.T) {
	w := newWorld(t)
	w.apply("gatehouse-"+w.namespace, shop)
	for _, name := range []string{"one", "two", "three"} {
		w.kubectl("", "create", "configmap", name)
	}
	w.kubectl("", "label", "service/web", "by=hand", "and=more", "or=less")
	first := ""
	for range 5 {
		var text strings.Builder
		for _, c := range w.compare(shop).Changes {
			text.WriteString(c.Unified())
		}
		if first == "" {
			first = text.String()
		}
		if text.String() != first {
			t.Fatalf("%s\nafter\n%s", text.String(), first)
		}
	}
}

// A terminating object has a warning, and an object that Flux ignores has a note.
func TestCompareWarnsOfTerminatingObject(t *testing.T) {
	w := newWorld(t)
	w.apply("gatehouse-"+w.namespace, oneMap)
	w.kubectl("", "patch", "configmap/a", "--type=merge", "-p", `{"metadata":{"finalizers":["example.com/held"],"annotations":{"kustomize.toolkit.fluxcd.io/reconcile":"disabled"}},"data":{"k":"w"}}`)
	w.remove(w.configMap("a"))
	e := w.compare(oneMap)
	if text := problemsOf(e); hasErrors(e) || !strings.Contains(text, "/a: is being deleted since 20") {
		t.Error(text)
	}
	if len(e.Changes) != 1 || !strings.Contains(e.Changes[0].Unified(), "# Flux leaves it alone, as kustomize.toolkit.fluxcd.io/reconcile is disabled") {
		t.Errorf("%+v", e.Changes)
	}
	w.kubectl("", "patch", "configmap/a", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
}
