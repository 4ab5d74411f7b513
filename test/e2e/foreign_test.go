//go:build e2e

package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/at"
	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/test/cluster"
)

// argo is the field manager of a tool that syncs by server-side apply.
const argo = client.FieldOwner("argocd-controller")

// TestForeignPodsStartNothing creates the Pod of an At without its gate, as an administrator and as a tool
// that copies the Pod in the cluster do. That starts nothing, before the run or after it.
func TestForeignPodsStartNothing(t *testing.T) {
	t.Parallel()
	const namespace = "e2e-foreign"
	w := newWorld(t)
	w.sync("dev")
	w.namespace(namespace)
	counter := w.newCounter()
	w.controller(w.kubeconfig(), "--namespaces="+namespace)
	w.countFromZero(counter, namespace+".waits", namespace+".ends", namespace+".runs")

	_, gated := w.applyAt(namespace, "waits", time.Now().Add(time.Hour))
	w.awaitReason(namespace, "waits", at.ReasonArmed)
	w.checkRefused("create a copy", w.Create(t.Context(), renamed(withoutGate(gated))))
	w.checkRefused("create", w.Create(t.Context(), withoutGate(gated)))
	w.checkRefused("apply", w.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(withoutGate(gated)), argo, client.ForceOwnership))
	image := client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"containers":[{"name":"command","image":"busybox:latest"}]}}`))
	w.checkRefused("another image", w.Patch(t.Context(), gated.DeepCopy(), image))
	w.awaitReason(namespace, "waits", at.ReasonArmed)
	w.checkGated(namespace, gated.GetName())

	due := time.Now().Add(2 * time.Second)
	_, ended := w.applyAt(namespace, "ends", due)
	_, running := w.applyAt(namespace, "runs", due, func(spec *cnatv1alpha1.AtSpec) { spec.Command += "; sleep 60 & wait" })
	w.awaitReason(namespace, "ends", at.ReasonComplete)
	w.eventually("the command runs", time.Minute, func(context.Context) error {
		if got := w.memcached(counter, "get "+namespace+".runs\r\n"); !strings.Contains(got, "\r\n1\r\n") {
			return errors.New(got)
		}
		return nil
	})
	for name, pod := range map[string]*unstructured.Unstructured{"ends": ended, "runs": running} {
		w.replace(pod)
		w.awaitReason(namespace, name, map[string]string{"ends": at.ReasonComplete, "runs": at.ReasonPodLost}[name])
	}
	time.Sleep(3 * time.Second)
	for name, want := range map[string]int{"waits": 0, "ends": 1, "runs": 1} {
		w.checkStarts(counter, namespace+"."+name, want)
	}
	w.checkGated(namespace, ended.GetName(), running.GetName())
	w.awaitReason(namespace, "ends", at.ReasonComplete)
	w.awaitReason(namespace, "runs", at.ReasonPodLost)
}

// applyAt creates an At, and applies its Pod as a tool does.
func (w *world) applyAt(namespace, name string, due time.Time, change ...func(*cnatv1alpha1.AtSpec)) (*cnatv1alpha1.At, *unstructured.Unstructured) {
	w.Helper()
	at := w.newAt(namespace, name, due, change...)
	must(w, w.Create(w.Context(), at))
	pods, err := cluster.Rendered(at, w.Scheme(), gatehouse.Kinds)
	must(w, err)
	must(w, w.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(pods[0].DeepCopy()), argo))
	return at, pods[0]
}

// replace deletes a Pod that started, and creates it again without its gate, as a tool does that
// ignores differences in the gate. Then it applies the Pod as it is in git.
func (w *world) replace(pod *unstructured.Unstructured) {
	w.Helper()
	live := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.GetNamespace(), Name: pod.GetName()}}
	must(w, w.Delete(w.Context(), live, client.GracePeriodSeconds(0)))
	w.eventually("the Pod is gone", time.Minute, func(ctx context.Context) error {
		err := w.Get(ctx, client.ObjectKeyFromObject(live), live)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is there"), err)
	})
	w.checkRefused("create after the run", w.Create(w.Context(), withoutGate(pod)))
	w.checkRefused("apply after the run", w.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(withoutGate(pod)), argo))
	must(w, w.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(pod.DeepCopy()), argo))
}

// checkRefused checks that the policy gatehouse-gates refused a request.
func (w *world) checkRefused(request string, err error) {
	w.Helper()
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "gatehouse-gates") {
		w.Errorf("%s: %v, want that the policy refuses it", request, err)
	}
}

// withoutGate returns a Pod without its gate.
func withoutGate(pod *unstructured.Unstructured) *unstructured.Unstructured {
	open := pod.DeepCopy()
	unstructured.RemoveNestedField(open.Object, "spec", "schedulingGates")
	return open
}

// renamed returns a Pod with another name of the same form.
func renamed(pod *unstructured.Unstructured) *unstructured.Unstructured {
	other := pod.DeepCopy()
	name := pod.GetName()
	other.SetName(name[:len(name)-10] + "0123456789")
	return other
}
