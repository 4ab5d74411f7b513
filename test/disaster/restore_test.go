package disaster

import (
	"cmp"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	. "example.com/gatehouse/controller/at"
)

// life is a cluster with Ats in different phases: done, running, and the others armed. After the limit
// only retried and future can still start.
type life struct {
	*world
	objects []*unstructured.Unstructured
	limit   time.Time
}

// live starts a cluster on data and brings its Ats into their phases. It kills the controller before
// missed and retried are due.
func live(t *testing.T, data string) *life {
	t.Helper()
	started := time.Now()
	w := newWorld(t, data)
	w.sync(rendered(t, "prod", map[string]string{"jobs.yaml": anAt("other", started.Add(time.Hour), "")}))
	due := time.Now().Truncate(time.Second).Add(max(5*time.Second, time.Since(started)))

	l := &life{world: w, limit: due.Add(time.Second)}
	anHourBefore := l.limit.Add(-time.Hour) // the default deadline of prod is an hour
	l.objects = rendered(t, "prod", map[string]string{"jobs.yaml": anAt("done", anHourBefore, "") + anAt("running", anHourBefore, "") +
		anAt("missed", due, ", startingDeadlineSeconds: 1") + anAt("retried", due, "") + anAt("future", due.Add(24*time.Hour), "")})
	stopController := w.startController()
	w.sync(l.objects)
	w.awaitAt("done", running, ReasonRunning)
	w.awaitOpen("done")
	w.finish("done")
	w.awaitAt("done", done, ReasonComplete)
	w.awaitAt("running", running, ReasonRunning)
	w.awaitOpen("running")
	for _, at := range []string{"missed", "retried", "future"} {
		w.awaitAt(at, pending, ReasonArmed)
	}
	stopController()
	if !time.Now().Before(due) {
		t.Fatal("arming took too long")
	}
	return l
}

// A restored cluster has no record of runs since the backup.
func TestRestoredClusterRunsAgainUnlessTooLate(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	l := live(t, data)
	backup := l.backUp()
	l.shutDown()

	w := newWorld(t, data)
	time.Sleep(time.Until(l.limit.Add(time.Second)))
	t.Run("etcd", func(t *testing.T) { testRestoredEtcd(w.on(t), l.objects) })
	for name, withStatus := range map[string]bool{"Velero without status": false, "Velero with status": true} {
		t.Run(name, func(t *testing.T) { testVelero(w.anew(t), backup, l.objects, withStatus) })
	}
}

// testRestoredEtcd checks that phases survive the restore. A due At whose Pod vanishes without a recorded
// start starts in the next Pod.
func testRestoredEtcd(w *world, objects []*unstructured.Unstructured) {
	must(w.T, w.Delete(w.Context(), w.pod("retried")))
	w.startController()
	w.awaitAt("missed", done, ReasonDeadlineMissed)
	w.awaitAt("retried", pending, ReasonPodMissing)
	w.sync(objects)
	w.awaitAt("retried", running, ReasonRunning)
	w.awaitAt("done", done, ReasonComplete)
	w.awaitAt("running", running, ReasonRunning)
	w.awaitAt("future", pending, ReasonArmed)
	w.checkClosed("missed", "future")
	w.awaitOpen("retried", "running", "done")

	// As if its node were gone.
	must(w.T, w.Delete(w.Context(), w.pod("running")))
	w.awaitAt("running", done, ReasonPodLost)
	w.sync(objects)
	w.awaitAt("running", done, ReasonPodLost)
	w.checkClosed("running")
}

// testVelero restores as Velero does, and then syncs from git. Velero creates the objects again, also
// Pods with an open gate, and restores their status only if configured.
func testVelero(w *world, backup, objects []*unstructured.Unstructured, withStatus bool) {
	w.restore(backup, withStatus)
	for _, at := range []string{"done", "running", "missed", "retried", "future"} {
		if pod := w.pod(at); pod != nil {
			w.Errorf("Pod %s is restored", pod.Name)
		}
	}
	w.startController()
	w.sync(objects)
	w.awaitAt("future", pending, ReasonArmed)
	if withStatus {
		w.awaitAt("done", done, ReasonComplete)
		w.awaitAt("running", done, ReasonPodLost)
		w.awaitAt("missed", done, ReasonPodLost)
		w.awaitAt("retried", done, ReasonPodLost)
		w.checkClosed("done", "running", "missed", "retried", "future")
		return
	}
	w.awaitAt("done", done, ReasonDeadlineMissed)
	w.awaitAt("running", done, ReasonDeadlineMissed)
	w.awaitAt("missed", done, ReasonDeadlineMissed)
	w.awaitAt("retried", running, ReasonRunning)
	w.checkClosed("done", "running", "missed", "future")
}

// backUp returns the live objects as Velero keeps them, without objects labeled to be excluded.
func (l *life) backUp() (kept []*unstructured.Unstructured) {
	l.Helper()
	for _, applied := range l.objects {
		o := applied.DeepCopy()
		must(l.T, l.Get(l.Context(), client.ObjectKeyFromObject(o), o))
		if o.GetLabels()["velero.io/exclude-from-backup"] != "true" {
			kept = append(kept, o)
		}
	}
	return kept
}

// restore creates objects in Velero's order: definitions, namespaces, Pods that have not ended, and all
// others.
func (w *world) restore(backup []*unstructured.Unstructured, withStatus bool) {
	w.Helper()
	first := []string{"Pod", "Namespace", "CustomResourceDefinition"} // in reverse order, before all others
	slices.SortStableFunc(backup, func(a, b *unstructured.Unstructured) int {
		return -cmp.Compare(slices.Index(first, a.GetKind()), slices.Index(first, b.GetKind()))
	})
	for _, o := range backup {
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		if o.GetKind() == "Pod" && (phase == string(corev1.PodSucceeded) || phase == string(corev1.PodFailed)) {
			continue
		}
		w.eventually("restore "+o.GetName(), func() error { return w.restoreOne(o, withStatus && o.GetKind() == cnatv1alpha1.KindAt) })
	}
}

func (w *world) restoreOne(o *unstructured.Unstructured, withStatus bool) error {
	restored := o.DeepCopy()
	labels := map[string]string{"velero.io/backup-name": "nightly", "velero.io/restore-name": "now"}
	maps.Copy(labels, o.GetLabels())
	restored.SetLabels(labels)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "ownerReferences"} {
		unstructured.RemoveNestedField(restored.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(restored.Object, "status")
	for _, field := range []string{"nodeName", "clusterIP", "clusterIPs"} {
		unstructured.RemoveNestedField(restored.Object, "spec", field)
	}
	if err := w.Create(w.Context(), restored); err != nil {
		return client.IgnoreAlreadyExists(err)
	}
	if !withStatus {
		return nil
	}
	restored.Object["status"] = o.Object["status"]
	age(restored)
	return w.Status().Update(w.Context(), restored)
}

// age makes the conditions of an object an hour old, as in a backup.
func age(o *unstructured.Unstructured) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		c.(map[string]any)["lastTransitionTime"] = time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	}
	_ = unstructured.SetNestedSlice(o.Object, conditions, "status", "conditions")
}
