package apply

import (
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// All problems are reported together, each with its object and a remedy, before any write.
func TestApplyReportsAllProblemsFirst(t *testing.T) {
	w := newWorld(t)
	w.mustApply(namespace + configMap("one", "a") + configMap("two", "a"))
	w.applyElse("autoscaler", configMap("one", "b")+configMap("two", "b"))
	before := w.inventory()
	w.mustRefuse(namespace+configMap("one", "c")+configMap("two", "c")+configMap("new", "a")+`
---
apiVersion: nobody.example.com/v1
kind: Gadget
metadata: {name: g, namespace: NAME}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: lost, namespace: nowhere}
---
apiVersion: v1
kind: Service
metadata: {name: wrong, namespace: NAME}
spec: {ports: [{port: 99999}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: gatehouse-NAME, namespace: default}
`,
		`ConfigMap NAME/one: data.key: "autoscaler" changed this field: remove it from the environment`, `ConfigMap NAME/two: data.key: "autoscaler"`, "--force-conflicts",
		"Gadget NAME/g: the cluster has no kind Gadget of nobody.example.com/v1: add its CustomResourceDefinition",
		`ConfigMap nowhere/lost: namespaces "nowhere" not found: add a Namespace to the environment`,
		"Service NAME/wrong: ", "99999",
		"ConfigMap default/gatehouse-NAME: has the name of the inventory of render apply")
	if w.configMap("new") != nil {
		t.Error("something was written")
	}
	w.mustBe(w.inventory(), before...)
	done, wrong := w.apply(namespace+configMap("one", "c"), force)
	w.mustBe(done, "Namespace NAME unchanged", "ConfigMap NAME/one configured")
	w.mustBe(wrong, "warning: ConfigMap NAME/two: is not deleted: this environment did not apply it, and it leaves the inventory")
}

// Not even --force-conflicts takes an object of another owner.
func TestApplyTakesNoForeignObject(t *testing.T) {
	w := newWorld(t)
	w.create(namespace)
	for name, test := range map[string]struct{ manager, metadata, want string }{
		"environment": {"gatehouse-other", "", "belongs to environment other"},
		"flux":        {"x", `labels: {kustomize.toolkit.fluxcd.io/name: apps}`, "belongs to Flux's Kustomization apps"},
		"helm":        {"x", `annotations: {meta.helm.sh/release-name: shop}`, "belongs to the Helm release shop"},
		"argo":        {"x", `annotations: {argocd.argoproj.io/tracking-id: "shop:/ConfigMap:a/b"}`, "belongs to Argo CD shop:/ConfigMap:a/b"},
		"argo-client": {"argocd-controller", "", "belongs to Argo CD"},
		"controller":  {"x", `ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: d, uid: u, controller: true}]`, "belongs to Deployment d"},
	} {
		cm := strings.Replace(configMap(name, "a"), "namespace: NAME}", "namespace: NAME, "+test.metadata+"}", 1)
		w.applyElse(test.manager, cm)
		w.mustRefuse(configMap(name, "a"), "ConfigMap NAME/"+name+": "+test.want)
		_, wrong := w.apply(configMap(name, "a"), force)
		w.mustSay(wrong, test.want)
	}
}

// An environment neither takes nor prunes objects that another one lists.
func TestEnvironmentsKeepTheirObjects(t *testing.T) {
	w := newWorld(t)
	w.mustApply(namespace + configMap("one", "a") + configMap("two", "a"))
	other := func(o *Options) { o.Environment += "-2" }
	_, wrong := w.apply(configMap("one", "a"), other)
	w.mustSay(wrong, "ConfigMap NAME/one: belongs to environment NAME: move objects that two environments need to a third")
	w.mustBe(w.mustApply(configMap("three", "a"), other), "ConfigMap NAME/three created")
	w.mustBe(w.mustApply(configMap("four", "a"), other), "ConfigMap NAME/four created", "ConfigMap NAME/three deleted")

	w.must(w.admin.Delete(w.ctx, w.configMap("two")))
	_, wrong = w.apply(configMap("two", "a"), other)
	w.mustSay(wrong, "ConfigMap NAME/two: belongs to environment NAME, whose inventory lists it")
	done, wrong := w.delete(other)
	w.mustBe(done, "ConfigMap NAME/four deleted")
	w.mustBe(wrong)
	if w.configMap("one") == nil {
		t.Error("an environment deleted what another applied")
	}
	_, wrong = w.delete(other)
	w.mustSay(wrong, "nothing of environment NAME-2 was applied")
}

func TestApplyRefusesOlderDefinition(t *testing.T) {
	w := newWorld(t)
	newer := strings.ReplaceAll(widgets, "EXTRA", ", color: {type: string}")
	w.mustApply(newer)
	w.mustRefuse(widgetKind, "CustomResourceDefinition widgets.NAME.example.com: is newer in the cluster, which has spec.color of v1: render the environment with the newer one")

	versions := strings.Replace(newer, "  versions:\n", "  versions:\n  - name: v2\n    served: true\n    storage: false\n    schema: {openAPIV3Schema: {type: object}}\n", 1)
	w.mustBe(w.mustApply(versions+"---"+namespace+widget), "CustomResourceDefinition widgets.NAME.example.com configured", "Namespace NAME created", "Widget NAME/w created")
	w.mustRefuse(newer, "is newer in the cluster, which has version v2")
	second := strings.Replace(versions, "name: v1", "name: v3", 1)
	w.mustRefuse(second, "version v1")
}

// A new field of a kind and an object with that field are applied together.
func TestApplyAddsFieldToKind(t *testing.T) {
	w := newWorld(t)
	w.mustApply(namespace + "---" + widgetKind + widget)
	colored := strings.Replace(widget, "size: 1", "size: 1, color: red", 1)
	w.mustRefuse(namespace+"---"+widgetKind+colored, "Widget NAME/w: ", "color")
	w.mustBe(w.mustApply(namespace+"---"+strings.ReplaceAll(widgets, "EXTRA", ", color: {type: string}")+colored),
		"CustomResourceDefinition widgets.NAME.example.com configured", "Namespace NAME unchanged", "Widget NAME/w configured")
}

func TestApplyRefusesTerminatingObjects(t *testing.T) {
	w := newWorld(t)
	w.mustApply(namespace + configMap("one", "a"))
	held := w.configMap("one")
	w.must(w.admin.Patch(w.ctx, held, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/f"]}}`))))
	w.must(w.admin.Delete(w.ctx, held))
	w.mustRefuse(namespace+configMap("one", "b"), "ConfigMap NAME/one: is being deleted: wait until it is gone")
	_, wrong := w.delete(wait, timeout(2*time.Second))
	w.mustSay(wrong, `ConfigMap NAME/one: is not gone after 2s: it waits for its finalizers ["example.com/f"]`)
	if len(w.inventory()) == 0 {
		t.Error("the inventory is gone before its objects")
	}
	w.mustRefuse(namespace, "Namespace NAME: is being deleted: wait until it is gone")
	w.mustRefuse(configMap("new", "b")+configMap("newer", "b"), "ConfigMap NAME/new: ", "ConfigMap NAME/newer: ", "because it is being terminated: wait until the namespace is gone, and run this again")
	_, wrong = w.delete(wait, timeout(2*time.Second))
	w.mustSay(wrong, "Namespace NAME: is not gone after 2s: it ends")
}

// All missing rights are reported before any write.
func TestApplyReportsMissingRights(t *testing.T) {
	w := newWorld(t)
	w.create(namespace)
	poor := w.user("get", "list")
	all := namespace + configMap("one", "a") + configMap("two", "a") + "---" + strings.ReplaceAll(namespace, "NAME", "NAME-2") + strings.ReplaceAll(configMap("there", "a"), "NAME", "NAME-2")
	done, wrong := w.applyAs(poor, all, dryRun)
	w.mustBe(done)
	w.mustSay(wrong,
		`ConfigMap NAME/one: configmaps "one" is forbidden: User "NAME" cannot patch resource "configmaps" in API group "" in the namespace "NAME": ask an administrator of the cluster for that right`,
		`ConfigMap NAME/two: configmaps "two" is forbidden`, `ConfigMap NAME-2/there: configmaps "there" is forbidden`, `Namespace NAME-2: `)
	done, wrong = w.applyAs(poor, all)
	w.mustBe(done)
	w.mustSay(wrong, `ConfigMap NAME/one: configmaps "one" is forbidden`, `Namespace NAME-2: `)
	if w.configMap("one") != nil || w.inventory() != nil {
		t.Error("something was written")
	}

	w.mustApply(namespace + configMap("one", "a"))
	unlisted := w.user("get", "list", "patch")
	done, wrong = w.applyAs(unlisted, namespace+configMap("one", "b"))
	w.mustBe(done)
	w.mustSay(wrong, `update inventory: configmaps "gatehouse-NAME" is forbidden: User "NAME" cannot update resource "configmaps" in API group "" in the namespace "default": ask an administrator of the cluster for that right`)
	undeletable := w.user("get", "list", "patch", "create", "update")
	done, wrong = w.applyAs(undeletable, namespace)
	w.mustBe(done)
	w.mustSay(wrong, `ConfigMap NAME/one: configmaps "one" is forbidden: User "NAME" cannot delete resource "configmaps"`)
}

// user returns a user with some rights on everything.
func (w *world) user(verbs ...string) *rest.Config {
	w.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.name}}
	_ = w.admin.Delete(w.ctx, role)
	role.ResourceVersion = ""
	role.Rules = []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: verbs}}
	w.must(w.admin.Create(w.ctx, role))
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: w.name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: w.name}}
	binding.Subjects = []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: w.name}}
	w.must(client.IgnoreAlreadyExists(w.admin.Create(w.ctx, binding)))
	config := rest.CopyConfig(server.Admin)
	config.Impersonate.UserName = w.name
	w.eventually("rights", func() bool {
		c, err := client.New(config, client.Options{})
		w.must(err)
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("v1")
		list.SetKind("ConfigMapList")
		return c.List(w.ctx, list, client.InNamespace(w.name)) == nil
	})
	return config
}

// A ConfigMap with the name of the inventory is not overwritten, and an edited inventory is an error.
func TestApplyRefusesForeignInventory(t *testing.T) {
	w := newWorld(t)
	w.create(`
apiVersion: v1
kind: ConfigMap
metadata: {name: gatehouse-NAME, namespace: default}
`)
	w.mustRefuse(namespace, "ConfigMap default/gatehouse-NAME has the name of the inventory")
	w.must(w.admin.Delete(w.ctx, w.inventoryMap()))
	w.mustApply(namespace)
	w.must(w.admin.Patch(w.ctx, w.inventoryMap(), client.RawPatch(types.MergePatchType, []byte(`{"data":{"objects":"nonsense\u001b[31m\n"}}`))))
	w.mustRefuse(namespace, "the inventory, ConfigMap default/gatehouse-NAME, was edited", `"nonsense\x1b[31m"`, "fix it, or delete it")
}

// With --force-conflicts an environment takes objects from kubectl. Later it prunes them and their
// fields.
func TestForceTakesFromKubectl(t *testing.T) {
	w := newWorld(t)
	w.create(namespace)
	for _, m := range w.objects(configMap("one", "a") + configMap("two", "a")) {
		w.must(w.admin.Create(w.ctx, m.Unstructured, client.FieldOwner("kubectl-client-side-apply")))
	}
	w.mustRefuse(configMap("one", "b"), `data.key: "kubectl-client-side-apply" changed this field`, "--force-conflicts")
	w.mustApply(configMap("one", "b")+configMap("two", "a"), force)
	w.mustBe(w.mustApply(strings.Replace(configMap("one", "b"), "key: b", "other: b", 1)), "ConfigMap NAME/one configured", "ConfigMap NAME/two deleted")
	data, _, _ := unstructured.NestedStringMap(w.configMap("one").Object, "data")
	if len(data) != 1 || data["other"] != "b" {
		t.Errorf("%v: a field that left git is still there", data)
	}
}

// An environment of the same name in another repository changes nothing.
func TestApplyRefusesOtherRepository(t *testing.T) {
	w := newWorld(t)
	of := func(repository string) func(*Options) {
		return func(o *Options) { o.Repository = repository }
	}
	w.mustApply(namespace+configMap("one", "a"), of(""))
	w.mustApply(namespace+configMap("one", "a"), of("1a2b")) // from now on it is known
	before := w.inventory()
	_, wrong := w.apply(namespace+configMap("two", "a"), of("3c4d"))
	w.mustSay(wrong, "environment NAME was applied to this cluster from another git repository, 1a2b, and this is 3c4d: rename one", "kubectl annotate configmap gatehouse-NAME --namespace default gatehouse.example.com/repository-")
	_, wrong = w.delete(of("3c4d"))
	w.mustSay(wrong, "from another git repository")
	w.mustBe(w.inventory(), before...)
	if w.configMap("one") == nil || w.configMap("two") != nil {
		t.Error("another repository changed the cluster")
	}
	w.mustApply(namespace+configMap("one", "b"), of("1a2b"))
	w.mustApply(namespace+configMap("one", "c"), of("")) // as from a shallow clone
	w.mustBe(w.inventory(), before...)
	_, wrong = w.apply(namespace, of("3c4d"))
	w.mustSay(wrong, "from another git repository")
	_, wrong = w.delete(of(""))
	w.mustBe(wrong)
}

// An object that a Namespace forbids until the environment changes it is applied after the
// Namespace. An invalid object is refused before any write.
func TestApplyRelaxesNamespaceFirst(t *testing.T) {
	w := newWorld(t)
	w.mustApply(strings.Replace(namespace, "NAME}", "NAME, labels: {pod-security.kubernetes.io/enforce: restricted}}", 1))
	pod := strings.Replace(gatedPod, "image: busybox", "image: busybox, securityContext: {privileged: true}", 1)
	w.mustRefuse(namespace+strings.Replace(pod, "name: command", "name: Command", 1), "Pod NAME/report-0123456789: ", "Command")
	w.mustBe(w.mustApply(namespace+pod, dryRun), "Namespace NAME configured", "Pod NAME/report-0123456789 created")
	w.mustBe(w.mustApply(namespace+pod), "Namespace NAME configured", "Pod NAME/report-0123456789 created")
}
