package cluster

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render"
)

// Into a cluster that has nothing of the environment, all of it is added.
func TestEmptyCluster(t *testing.T) {
	w := newComparedWorld(t)
	text := namespaceText + "---\n" + strings.Replace(definitionText("empty.example.com", "Widget"), "VERSION", "v1", 1) +
		"---\napiVersion: empty.example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: NS}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: NS}\n"
	w.want(w.compare(text), "added CustomResourceDefinition widgets.empty.example.com", "added Namespace NS", "added ConfigMap a", "added Widget w")
}

// All that is wrong is said at once, with the way out.
func TestRefused(t *testing.T) {
	w := newComparedWorld(t)
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

// What the environment changes first may be why the API server refuses an object now.
func TestRefusedUntilNamespaceChanges(t *testing.T) {
	w := newComparedWorld(t)
	w.apply("gatehouse-"+w.namespace, namespaceText, mark("labels", "pod-security.kubernetes.io/enforce", "restricted"))
	e := w.compare(namespaceText + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: root, namespace: NS}\nspec: {containers: [{name: a, image: a}]}\n")
	w.want(e, "changed Namespace NS", "- pod-security.kubernetes.io/enforce: restricted", "added Pod root")
	if notes := strings.Join(e.Changes[1].Notes, "\n"); !strings.Contains(notes, "before what else the environment changes is applied: pods \"root\" is forbidden") {
		t.Error(notes)
	}
}

// A definition that the environment changes may have fields and versions that the cluster does
// not know yet.
func TestCompareNewerDefinition(t *testing.T) {
	w := newComparedWorld(t)
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

// Missing rights are reported.
func TestRights(t *testing.T) {
	w := newComparedWorld(t)
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

// A namespace that is being deleted shows.
func TestCompareTerminating(t *testing.T) {
	w := newComparedWorld(t)
	w.apply("gatehouse-"+w.namespace, oneMap)
	ns := &unstructured.Unstructured{}
	ns.SetAPIVersion("v1")
	ns.SetKind("Namespace")
	ns.SetName(w.namespace)
	w.remove(ns) // nothing here finishes that
	e := w.compare(oneMap)
	if text := problemsOf(e); !strings.Contains(text, "Namespace "+w.namespace+": is being deleted since 20") {
		t.Errorf("%d changes\n%s", len(e.Changes), text)
	}
}

// Fields that something else than people and GitOps tools set are its own, but where git has
// them.
func TestOtherManagers(t *testing.T) {
	w := newComparedWorld(t)
	oneMap := strings.Replace(oneMap, "{k: v}", "{k: v, l: m}", 1)
	w.apply("gatehouse-"+w.namespace, oneMap)
	operated := strings.Split(oneMap, "---\n")[1]
	w.apply("operator", strings.Replace(operated, "{k: v, l: m}", "{own: field}", 1))
	w.wantNone(w.compare(oneMap))
	w.apply("operator", strings.Replace(operated, "{k: v, l: m}", "{k: other}", 1))
	w.want(w.compare(oneMap), "changed ConfigMap a",
		"# operator set data.k: a sync sets what git has, and that may be changed back; leave the field out of git where something else decides it",
		forceNote, "- k: other", "+ k: v")
}

// A field that git has no more is removed, whoever applied it.
func TestFieldThatGitDropped(t *testing.T) {
	for name, apply := range syncers {
		t.Run(name, func(t *testing.T) {
			w := newComparedWorld(t)
			apply(w, shop)
			e := w.compare(strings.Replace(shop, `{a: "1", b: "2"}`, `{a: "1"}`, 1))
			e.Problems = nil
			manager := map[string]string{"kubectl apply": "kubectl-client-side-apply", "Argo CD": "argocd-controller"}[name]
			if manager == "" { // what is applied by the server needs no note
				w.want(e, "changed ConfigMap settings", `- b: "2"`)
				return
			}
			w.want(e, "changed ConfigMap settings", "# "+manager+" set data.b", `- b: "2"`)
		})
	}
}

// Without a cluster there is one error, at once.
func TestNoCluster(t *testing.T) {
	w := newComparedWorld(t)
	away := rest.CopyConfig(server.Admin)
	away.Host = "https://127.0.0.1:1"
	c, err := client.New(away, client.Options{Mapper: w.RESTMapper()})
	w.must(err)
	_, err = compareAll(t.Context(), &Cluster{Client: c, Config: away}, gatehouse.All(), []*render.Rendering{renderedAs("prod", w.read(shop))}, func(string, string) {})
	if err == nil || strings.Count(err.Error(), "refused") != 1 {
		t.Error(err)
	}
}

// The result depends on git and the cluster alone.
func TestSameEachTime(t *testing.T) {
	w := newComparedWorld(t)
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

// An object that is being deleted is as good as gone, and what Flux leaves alone says so.
func TestDeletedAndDisabled(t *testing.T) {
	w := newComparedWorld(t)
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
