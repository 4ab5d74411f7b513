package controller_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	. "example.com/gatehouse/controller/at"
	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/kind/condition"
)

// Admission may refuse an opening with any code. The status then has the message of the API server
// and is not Ready, and the gate opens once the refusal ends. Codes for a conflict or a missing
// object do not mean the Pod.
func TestAtOpenRefusedByWebhook(t *testing.T) {
	for _, code := range []int32{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusInternalServerError} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			w := newWorld(t)
			refuses := w.refuseUpdates(code)
			w.start()
			at := w.createAt("refused", -time.Minute)
			pod := w.syncPod(at)
			refused := w.awaitAt(at, pending, ReasonOpenRefused)
			ready := condition.FindReady(refused.Status.Conditions)
			if ready.Status != metav1.ConditionFalse || !strings.Contains(ready.Message, "not today") {
				t.Errorf("Ready is %+v", ready)
			}
			refuses.Store(false)
			w.awaitAt(at, running, ReasonRunning)
			w.checkGate(pod, false)
		})
	}
}

// An opening that is refused until the deadline is missed. An opening that is refused when its At
// is suspended is held once the refusal ends.
func TestAtRefusedGivesUp(t *testing.T) {
	w := newWorld(t)
	refuses := w.refuseUpdates(http.StatusConflict)
	w.start()
	missed := w.createAt("missed", -time.Second, func(at *cnatv1alpha1.At) { at.Spec.StartingDeadlineSeconds = ptr.To[int64](4) })
	held := w.createAt("held", -time.Second)
	missedPod := w.syncPod(missed)
	heldPod := w.syncPod(held)
	w.awaitAt(held, pending, ReasonOpenRefused)
	edit(w, held, func(at *cnatv1alpha1.At) { at.Spec.Suspend = true })
	w.awaitAt(missed, done, ReasonDeadlineMissed)
	if current := w.awaitAt(held, pending, ReasonOpenRefused); !meta.IsStatusConditionTrue(current.Status.Conditions, Suspended) {
		t.Errorf("status is %+v", current.Status)
	}
	refuses.Store(false)
	w.awaitAt(held, pending, ReasonSuspended)
	w.checkGate(missedPod, true)
	w.checkGate(heldPod, true)
	edit(w, held, func(at *cnatv1alpha1.At) { at.Spec.Suspend = false })
	w.awaitAt(held, running, ReasonRunning)
	w.checkGate(heldPod, false)
}

// An At is not Ready and starts nothing if its Pod is being deleted, or if it has two.
func TestAtIsNotReadyWithoutOnePod(t *testing.T) {
	w := newWorld(t)
	w.start()
	going := w.createAt("going", 3*time.Second)
	twice := w.createAt("twice", 3*time.Second)
	pod := w.syncPod(going)
	first := w.syncPod(twice)
	w.awaitAt(going, pending, ReasonArmed)
	w.must(w.Delete(w.ctx, pod, client.PropagationPolicy(metav1.DeletePropagationForeground))) // nobody ends it here
	second := w.syncPod(twice, "v2")
	ambiguous := condition.FindReady(w.awaitAt(twice, pending, ReasonPodAmbiguous).Status.Conditions)
	if !strings.Contains(ambiguous.Message, first.Name) || !strings.Contains(ambiguous.Message, second.Name) {
		t.Errorf("message %q", ambiguous.Message)
	}
	w.awaitAt(going, pending, ReasonPodMissing)
	time.Sleep(3 * time.Second)
	w.awaitAt(going, pending, ReasonPodMissing)
	w.awaitAt(twice, pending, ReasonPodAmbiguous)
	for _, closed := range []*corev1.Pod{pod, first, second} {
		w.checkGate(closed, true)
	}
	w.must(w.Delete(w.ctx, first))
	w.awaitAt(twice, running, ReasonRunning)
	w.checkGate(second, false)
	edit(w, pod, func(pod *corev1.Pod) { pod.Finalizers = nil })
	next := w.syncPod(going)
	w.awaitAt(going, running, ReasonRunning)
	w.checkGate(next, false)
}

// A webhook that takes longer than a first request delays an At, and does not keep it from starting.
func TestSlowWebhookDelaysOpening(t *testing.T) {
	w := newWorld(t)
	w.intercept("pods", false, func(request *http.Request, _ *admissionv1.AdmissionRequest, _ *admissionv1.AdmissionResponse) {
		select {
		case <-request.Context().Done():
		case <-time.After(setup.RequestTimeout + 3*time.Second):
		}
	})
	w.start()
	at := w.createAt("slow", -time.Second)
	pod := w.syncPod(at)
	w.awaitAt(at, pending, ReasonOpenRefused)
	w.awaitAt(at, running, ReasonRunning)
	w.checkGate(pod, false)
}

// refuseUpdates adds a webhook that refuses every update of a Pod in this namespace with a code,
// while the returned value is true.
func (w *world) refuseUpdates(code int32) *atomic.Bool {
	w.Helper()
	refuses := &atomic.Bool{}
	refuses.Store(true)
	w.intercept("pods", false, func(_ *http.Request, _ *admissionv1.AdmissionRequest, response *admissionv1.AdmissionResponse) {
		if refuses.Load() {
			response.Allowed = false
			response.Result = &metav1.Status{Code: code, Reason: reasonOf(code), Message: "not today"}
		}
	})
	return refuses
}

func reasonOf(code int32) metav1.StatusReason {
	return map[int32]metav1.StatusReason{
		http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusConflict: metav1.StatusReasonConflict,
		http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
	}[code]
}
