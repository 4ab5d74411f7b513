package apply

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const namespace = `
apiVersion: v1
kind: Namespace
metadata: {name: NAME}
`

func configMap(name, value string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: NAME}\ndata: {key: %s}\n", name, value)
}

const widgets = `
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.NAME.example.com}
spec:
  group: NAME.example.com
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}EXTRA}}
`

var widgetKind = strings.ReplaceAll(widgets, "EXTRA", "")

const widget = `
---
apiVersion: NAME.example.com/v1
kind: Widget
metadata: {name: w, namespace: NAME}
spec: {size: 1}
`

// gatedPod is the rendered Pod of an At.
const gatedPod = `
---
apiVersion: v1
kind: Pod
metadata:
  name: report-0123456789
  namespace: NAME
  labels: {cnat.programming-kubernetes.info/at: report}
  annotations: {kustomize.toolkit.fluxcd.io/ssa: IfNotPresent}
spec:
  schedulingGates: [{name: cnat.programming-kubernetes.info/schedule}]
  containers: [{name: command, image: busybox}]
`

// An environment brings its own namespace and kind. A second run changes nothing.
func TestApplyCreatesEverythingOnce(t *testing.T) {
	w := newWorld(t)
	all := widget + configMap("one", "a") + gatedPod + widgetKind + "---" + namespace
	created := []string{
		"CustomResourceDefinition widgets.NAME.example.com created", "Namespace NAME created", "ConfigMap NAME/one created",
		"Pod NAME/report-0123456789 created", "Widget NAME/w created",
	}
	w.mustBe(w.mustApply(all, dryRun), slices.Clone(created)...)
	if w.object("v1", "Namespace", "NAME") != nil || w.inventory() != nil {
		t.Error("a dry run has written")
	}
	w.mustBe(w.mustApply(all, wait), slices.Clone(created)...)
	w.mustBe(w.inventory(),
		"ConfigMap=NAME/one", "CustomResourceDefinition.apiextensions.k8s.io=widgets.NAME.example.com", "Namespace=NAME",
		"Pod=NAME/report-0123456789", "Widget.NAME.example.com=NAME/w")
	if labels := w.configMap("one").GetLabels(); len(labels) > 0 {
		t.Errorf("labels %v are not in git", labels)
	}
	before := w.configMap("one").GetResourceVersion()
	for _, line := range w.mustApply(all) {
		if !strings.HasSuffix(line, " unchanged") {
			t.Error(line)
		}
	}
	if w.configMap("one").GetResourceVersion() != before {
		t.Error("an unchanged object was written")
	}
	w.mustBe(w.mustApply(strings.Replace(all, "key: a", "key: b", 1))[2:3], "ConfigMap NAME/one configured")
}

// A started or ended Pod is never written. A deleted one is created again behind its gate.
func TestPodsAreCreatedOnce(t *testing.T) {
	w := newWorld(t)
	all := namespace + gatedPod
	w.mustApply(all)
	w.start()
	started := w.pod()
	w.mustBe(w.mustApply(all), "Namespace NAME unchanged", "Pod NAME/report-0123456789 unchanged")
	w.mustBe(w.mustApply(all, force), "Namespace NAME unchanged", "Pod NAME/report-0123456789 unchanged")

	_, wrong := w.apply(namespace)
	w.mustSay(wrong, "warning: Pod NAME/report-0123456789: is not deleted: it runs")
	if now := w.pod(); now.UID != started.UID || now.ResourceVersion != started.ResourceVersion {
		t.Error("a started Pod was written")
	}
	w.mustBe(w.inventory(), "Namespace=NAME", "Pod=NAME/report-0123456789")

	started.Status.Phase = corev1.PodSucceeded
	w.must(w.admin.Status().Update(w.ctx, started))
	w.mustBe(w.mustApply(all), "Namespace NAME unchanged", "Pod NAME/report-0123456789 unchanged")
	w.mustBe(w.mustApply(namespace), "Namespace NAME unchanged", "Pod NAME/report-0123456789 deleted")
	w.mustBe(w.inventory(), "Namespace=NAME")

	w.mustBe(w.mustApply(all), "Namespace NAME unchanged", "Pod NAME/report-0123456789 created")
	if len(w.pod().Spec.SchedulingGates) != 1 {
		t.Error("the Pod was created again without its gate")
	}
}

func (w *world) pod() *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{}
	w.must(w.admin.Get(w.ctx, client.ObjectKey{Namespace: w.name, Name: "report-0123456789"}, pod))
	return pod
}

// start opens the gate as the controller, which alone may.
func (w *world) start() {
	w.Helper()
	controller, err := client.New(server.Controller, client.Options{})
	w.must(err)
	w.must(controller.Patch(w.ctx, w.pod(), client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/spec/schedulingGates"}]`))))
}

// An object that left git is deleted if this environment alone applied it.
func TestPruneKeepsObjectsOfOthers(t *testing.T) {
	w := newWorld(t)
	w.mustApply(namespace + configMap("gone", "a") + configMap("shared", "a") + configMap("kept", "a") + configMap("handed", "a"))
	w.applyElse("somebody", configMap("shared", "a"))
	w.must(w.admin.Patch(w.ctx, w.configMap("kept"), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"kustomize.toolkit.fluxcd.io/prune":"Disabled"}}}`))))
	handed := w.configMap("handed")
	w.must(w.admin.Delete(w.ctx, handed))
	w.create(configMap("handed", "b"))
	w.create(configMap("foreign", "a"))

	planned, _ := w.apply(namespace, dryRun)
	done, wrong := w.apply(namespace)
	w.mustBe(done, "Namespace NAME unchanged", "ConfigMap NAME/gone deleted")
	w.mustBe(planned, done...)
	w.mustBe(wrong,
		"warning: ConfigMap NAME/shared: is not deleted: somebody applied it, too, and it leaves the inventory",
		"warning: ConfigMap NAME/kept: is not deleted: kustomize.toolkit.fluxcd.io/prune is disabled, and it leaves the inventory",
		"warning: ConfigMap NAME/handed: is not deleted: this environment did not apply it, and it leaves the inventory")
	w.mustBe(w.inventory(), "Namespace=NAME")
	for _, name := range []string{"shared", "kept", "handed", "foreign"} {
		if w.configMap(name) == nil {
			t.Errorf("%s was deleted", name)
		}
	}
	if w.configMap("gone") != nil {
		t.Error("gone is still there")
	}
}

// A Namespace stays until it is empty, a CustomResourceDefinition until no object has its kind,
// and the inventory until both are gone.
func TestDeleteKeepsNeededDefinitions(t *testing.T) {
	w := newWorld(t)
	_, wrong := w.delete()
	w.mustSay(wrong, "nothing of environment NAME was applied")
	w.mustApply(widgetKind + "---" + namespace + widget + configMap("one", "a"))
	other := strings.Replace(widget, "name: w", "name: other", 1)
	w.create(other)
	w.create(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: NAME}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kube-root-ca.crt, namespace: NAME}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: leader, namespace: NAME}
`)
	planned, _ := w.delete(dryRun)
	done, wrong := w.delete(wait)
	w.mustBe(planned, done...)
	w.mustBe(done, "Widget NAME/w deleted", "ConfigMap NAME/one deleted")
	w.mustBe(wrong,
		"warning: Namespace NAME: is not deleted: there is Widget NAME/other, which this environment does not delete; run this again when that is gone",
		"warning: CustomResourceDefinition widgets.NAME.example.com: is not deleted: there is Widget NAME/other, which this environment does not delete; run this again when that is gone")
	w.mustBe(w.inventory(), "CustomResourceDefinition.apiextensions.k8s.io=widgets.NAME.example.com", "Namespace=NAME")

	w.must(w.admin.Delete(w.ctx, w.object(w.name+".example.com/v1", "Widget", "NAME/other")))
	done, wrong = w.delete()
	w.mustBe(done, "Namespace NAME deleted", "CustomResourceDefinition widgets.NAME.example.com deleted")
	w.mustBe(wrong)
	if w.inventoryMap() != nil {
		t.Error("the inventory is left")
	}
	w.finalizeNamespace(w.name)
}

// Each run warns of a Namespace that left git, until it is empty.
func TestPruneKeepsUsedNamespace(t *testing.T) {
	w := newWorld(t)
	rest := `
apiVersion: v1
kind: ConfigMap
metadata: {name: of-NAME, namespace: default}
`
	w.mustApply(namespace + "---" + rest)
	w.create(configMap("foreign", "a"))
	for range 2 {
		_, wrong := w.apply(rest)
		w.mustBe(wrong, "warning: Namespace NAME: is not deleted: there is ConfigMap NAME/foreign, which this environment does not delete; run this again when that is gone")
	}
	w.must(w.admin.Delete(w.ctx, w.configMap("foreign")))
	w.mustBe(w.mustApply(rest), "ConfigMap default/of-NAME unchanged", "Namespace NAME deleted")
	w.mustBe(w.inventory(), "ConfigMap=default/of-NAME")
}

func TestPruneDeletesChangingObject(t *testing.T) {
	w := newWorld(t)
	w.mustApply(namespace + configMap("busy", "a"))
	changing, stop := context.WithCancel(w.ctx)
	var changes sync.WaitGroup
	changes.Go(func() {
		for i := 0; changing.Err() == nil; i++ {
			busy := w.configMap("busy")
			if busy == nil {
				return
			}
			busy.SetAnnotations(map[string]string{"example.com/n": strconv.Itoa(i)})
			_ = w.admin.Update(w.ctx, busy, client.FieldOwner("somebody"))
			time.Sleep(5 * time.Millisecond)
		}
	})
	done, wrong := w.apply(namespace)
	stop()
	changes.Wait()
	w.mustBe(wrong)
	w.mustBe(done, "Namespace NAME unchanged", "ConfigMap NAME/busy deleted")
}
