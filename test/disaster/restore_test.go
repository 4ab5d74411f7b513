package disaster

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	. "example.com/gatehouse/controller/at"
)

// life is that of a cluster whose Ats are each at another point of theirs: done has run,
// running runs, future is to come, and missed and retried are due soon. By the limit it is too
// late for all but retried and future.
type life struct {
	*world
	stopController func()
	objects        []*unstructured.Unstructured
	due, limit     time.Time
}

// live starts a cluster on data, and the life of its Ats. Until missed and retried are due is
// time to start the cluster again, and as much from then to the limit.
func live(t *testing.T, data string) *life {
	t.Helper()
	started := time.Now()
	w := newWorld(t, data)
	w.sync(rendered(t, "prod", map[string]string{"jobs.yaml": anAt("other", started.Add(time.Hour), "")}))
	enough := max(5*time.Second, 3*time.Since(started)/2).Truncate(time.Second)

	now := time.Now().Truncate(time.Second)
	l := &life{world: w, due: now.Add(2 * enough), limit: now.Add(3 * enough)}
	anHourBefore := l.limit.Add(-time.Hour) // and prod has an hour for the deadline
	l.objects = rendered(t, "prod", map[string]string{"jobs.yaml": anAt("done", anHourBefore, "") + anAt("running", anHourBefore, "") +
		anAt("missed", l.due, fmt.Sprintf(", startingDeadlineSeconds: %d", l.limit.Sub(l.due)/time.Second)) +
		anAt("retried", l.due, "") + anAt("future", now.Add(24*time.Hour), "")})
	l.stopController = w.startController()
	w.sync(l.objects)
	w.awaitAt("done", running, ReasonRunning)
	w.finish("done")
	w.awaitAt("done", done, ReasonComplete)
	w.awaitAt("running", running, ReasonRunning)
	for _, at := range []string{"missed", "retried", "future"} {
		w.awaitAt(at, pending, ReasonArmed)
	}
	return l
}

// awaitLimit waits until it is too late.
func (l *life) awaitLimit() { time.Sleep(time.Until(l.limit.Add(time.Second))) }

// An etcd that is restored from before a run knows nothing of it: the command runs again only
// if that is not too late. What it shows as running or done stays so.
func TestRestoredEtcd(t *testing.T) {
	data, backup := t.TempDir(), t.TempDir()
	l := live(t, data)
	l.stopController()
	l.shutDown()
	must(t, os.CopyFS(backup, os.DirFS(data)))
	if time.Now().After(l.due) {
		t.Fatal("the backup took too long")
	}

	w := newWorld(t, data)
	stop := w.startController()
	for _, at := range []string{"missed", "retried"} {
		w.awaitAt(at, running, ReasonRunning)
		w.finish(at)
		w.awaitAt(at, done, ReasonComplete)
	}
	stop()
	w.shutDown()

	l.awaitLimit()
	w = newWorld(t, backup)
	w.startController()
	w.awaitAt("missed", done, ReasonDeadlineMissed)
	w.awaitAt("retried", running, ReasonRunning)
	w.awaitAt("done", done, ReasonComplete)
	w.awaitAt("running", running, ReasonRunning)
	w.awaitAt("future", pending, ReasonArmed)
	w.checkGates(true, "missed", "future")
	w.checkGates(false, "retried", "running", "done")

	// Its node is gone.
	must(t, w.Delete(t.Context(), w.pod("running")))
	w.awaitAt("running", done, ReasonPodLost)
	w.sync(l.objects)
	w.awaitAt("running", done, ReasonPodLost)
	w.checkGates(true, "running")
}

// Velero creates objects anew. It restores no status, unless it is told to, and brings back
// Pods whose gate is open; a tool then syncs what is in git.
func TestVelero(t *testing.T) {
	l := live(t, t.TempDir())
	backup := l.backUp()
	l.stopController()
	l.shutDown()
	l.awaitLimit()
	for name, withStatus := range map[string]bool{"without status": false, "with status": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, t.TempDir())
			w.restore(backup, withStatus)
			for _, at := range []string{"done", "running", "missed", "retried", "future"} {
				if pod := w.pod(at); pod != nil {
					t.Errorf("Pod %s is restored", pod.Name)
				}
			}
			w.startController()
			w.sync(l.objects)
			w.awaitAt("future", pending, ReasonArmed)
			if withStatus {
				w.awaitAt("done", done, ReasonComplete)
				w.awaitAt("running", done, ReasonPodLost)
				w.awaitAt("missed", done, ReasonPodLost)
				w.awaitAt("retried", done, ReasonPodLost)
				w.checkGates(true, "done", "running", "missed", "retried", "future")
				return
			}
			w.awaitAt("done", done, ReasonDeadlineMissed)
			w.awaitAt("running", done, ReasonDeadlineMissed)
			w.awaitAt("missed", done, ReasonDeadlineMissed)
			w.awaitAt("retried", running, ReasonRunning)
			w.checkGates(true, "done", "running", "missed", "future")
		})
	}
}

// backUp is what Velero keeps of all objects that were applied: it leaves out those with a
// label.
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

// restore creates objects as Velero does: definitions and namespaces, Pods that have not
// ended, then all others.
func (w *world) restore(backup []*unstructured.Unstructured, withStatus bool) {
	w.Helper()
	first := []string{"Pod", "Namespace", "CustomResourceDefinition"} // the last of them before the others
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
	unstructured.RemoveNestedField(restored.Object, "spec", "nodeName")
	if err := w.Create(w.Context(), restored); err != nil {
		return client.IgnoreAlreadyExists(err)
	}
	if !withStatus {
		return nil
	}
	restored.Object["status"] = o.Object["status"]
	return w.Status().Update(w.Context(), restored)
}

// In another namespace an At is another one: it starts there unless that is too late, also
// if it ran where it was.
func TestMovedNamespace(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.startController()
	ats := anAt("past", time.Now().Add(-2*time.Hour), "") + anAt("soon", time.Now().Add(-time.Minute), "") + anAt("future", time.Now().Add(time.Hour), "")
	for _, namespace := range []string{"gatehouse-system", w.namespace} {
		w.namespace = namespace
		w.sync(rendered(t, "prod", map[string]string{"jobs.yaml": strings.ReplaceAll(ats, "namespace: shop", "namespace: "+namespace)}))
		w.awaitAt("past", done, ReasonDeadlineMissed)
		w.awaitAt("soon", running, ReasonRunning)
		w.awaitAt("future", pending, ReasonArmed)
		w.checkGates(true, "past", "future")
	}
}
