package controller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	. "example.com/gatehouse/controller/at"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
)

// A status that names the Pod of another At opens nothing, and leaves the other At alone.
func TestStatusOpensNoPodOfAnotherAt(t *testing.T) {
	w := newWorld(t)
	w.isForged = func(object *unstructured.Unstructured) bool { return object.GetName() == "thief" }
	victim := w.createAt("victim", time.Hour)
	thief := w.createAt("thief", -time.Minute)
	pod := w.syncPod(victim)
	for name, claim := range map[string]string{"armed": "", "recorded": `,"openedTime":"2026-01-01T00:00:00Z"`} {
		patch := fmt.Sprintf(`{"status":{"phase":"RUNNING","run":{"digest":%q,"podName":%q,"podUID":%q%s}}}`,
			pod.Annotations["gatehouse.example.com/digest"], pod.Name, pod.UID, claim)
		w.must(w.Status().Patch(w.ctx, thief, client.RawPatch(types.MergePatchType, []byte(patch))))
		stop := w.start()
		w.awaitAt(victim, pending, ReasonArmed)
		w.eventually(name, func() error {
			w.must(w.Get(w.ctx, client.ObjectKeyFromObject(thief), thief))
			if reason := condition.FindReady(thief.Status.Conditions).Reason; reason != ReasonPodMissing && reason != ReasonPodLost {
				return fmt.Errorf("%+v", thief.Status)
			}
			return nil
		})
		stop()
		w.checkGate(pod, true)
		w.awaitAt(victim, pending, ReasonArmed)
	}
}

// A status of another client does not keep an At from starting while its Pod waits, or it is not Ready.
func TestForgedEndIsMendedOrReported(t *testing.T) {
	w := newWorld(t)
	w.isForged = func(object *unstructured.Unstructured) bool {
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		return phase == string(done)
	}
	w.start()
	const end = `"phase":"DONE","run":{"openedTime":"2026-01-01T00:00:00Z","finishedTime":"2026-01-01T00:00:00Z","exitCode":0}`
	for name, status := range map[string]string{
		"done":     `"phase":"DONE"`,
		"finished": end,
		"complete": end + `,"conditions":CONDITIONS`,
		"ran":      `"ran":["DIGEST@2026-01-01T00:00:00Z"]`,
	} {
		at := w.createAt(name, time.Hour)
		pod := w.syncPod(at)
		conditions := w.awaitAt(at, pending, ReasonArmed).Status.Conditions
		for _, conditionType := range []string{condition.Ready, Complete} {
			meta.SetStatusCondition(&conditions, metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: ReasonComplete})
		}
		complete, err := json.Marshal(conditions)
		w.must(err)
		status = strings.NewReplacer("DIGEST", pod.Annotations[kind.DigestAnnotation], "CONDITIONS", string(complete)).Replace(status)
		patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{`+status+`}}`))
		w.must(w.Status().Patch(w.ctx, at.DeepCopy(), patch, client.FieldOwner("somebody")))
		want := ReasonArmed
		if name == "ran" {
			want = ReasonStatusOverwritten
		}
		w.eventually(name, func() error {
			mended := w.awaitAt(at, pending, want)
			if run := mended.Status.Run; run == nil || run.PodUID != pod.UID || run.OpenedTime != nil || run.FinishedTime != nil {
				return fmt.Errorf("run %+v", run)
			}
			return nil
		})
		w.checkGate(pod, true)
	}
	due := w.createAt("due", 2*time.Second)
	pod := w.syncPod(due)
	w.awaitAt(due, pending, ReasonArmed)
	w.must(w.Status().Patch(w.ctx, due.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":{`+end+`}}`))))
	w.awaitAt(due, running, ReasonRunning)
	w.checkGate(pod, false)
}

// A webhook that restores the gate keeps the At from starting. The status reports it.
func TestRestoredGateKeepsAtFromStarting(t *testing.T) {
	w := newWorld(t)
	var keeps atomic.Bool
	keeps.Store(true)
	w.intercept("pods", true, func(_ *http.Request, request *admissionv1.AdmissionRequest, response *admissionv1.AdmissionResponse) {
		if !keeps.Load() {
			return
		}
		var before struct{ Spec corev1.PodSpec }
		_ = json.Unmarshal(request.OldObject.Raw, &before)
		gates, _ := json.Marshal(before.Spec.SchedulingGates)
		response.PatchType = ptr.To(admissionv1.PatchTypeJSONPatch)
		response.Patch = fmt.Appendf(nil, `[{"op":"add","path":"/spec/schedulingGates","value":%s}]`, gates)
	})
	w.start()
	at := w.createAt("kept", -time.Second)
	pod := w.syncPod(at)
	refused := w.awaitAt(at, pending, ReasonOpenRefused)
	if message := condition.FindReady(refused.Status.Conditions).Message; !strings.Contains(message, "mutating webhook") {
		t.Errorf("message %q", message)
	}
	keeps.Store(false)
	w.awaitAt(at, running, ReasonRunning)
	w.checkGate(pod, false)
}

// If a webhook strips the recorded start, nothing opens.
func TestStrippedRecordOpensNothing(t *testing.T) {
	w := newWorld(t)
	var strips atomic.Bool
	strips.Store(true)
	w.intercept("ats/status", true, func(_ *http.Request, request *admissionv1.AdmissionRequest, response *admissionv1.AdmissionResponse) {
		if strips.Load() && strings.Contains(string(request.Object.Raw), "openedTime") {
			response.PatchType = ptr.To(admissionv1.PatchTypeJSONPatch)
			response.Patch = []byte(`[{"op":"remove","path":"/status/run/openedTime"}]`)
		}
	})
	w.start()
	at := w.createAt("stripped", -time.Second)
	pod := w.syncPod(at)
	w.awaitAt(at, pending, ReasonOpenRefused)
	w.checkGate(pod, true)
	strips.Store(false)
	w.awaitAt(at, running, ReasonRunning)
	w.checkGate(pod, false)
}

// The controller abandons an in-flight opening after seconds. If the At is edited or suspended
// meanwhile, it does not start, even if the opening is allowed later.
func TestHangingOpeningIsAbandoned(t *testing.T) {
	w := newWorld(t)
	var hangs atomic.Bool
	hangs.Store(true)
	w.intercept("pods", false, func(request *http.Request, review *admissionv1.AdmissionRequest, _ *admissionv1.AdmissionResponse) {
		isHold := strings.Contains(string(review.Object.Raw), "gatehouse.example.com/held")
		if hangs.Load() && !isHold {
			select {
			case <-request.Context().Done():
			case <-time.After(15 * time.Second):
			}
		}
	})
	w.start()
	suspended := w.createAt("suspended", -time.Second)
	kept := w.createAt("kept", -time.Second)
	suspendedPod := w.syncPod(suspended)
	keptPod := w.syncPod(kept)
	w.awaitAt(suspended, running, ReasonRunning)
	edit(w, suspended, func(at *cnatv1alpha1.At) { at.Spec.Suspend = true })
	w.awaitAt(suspended, pending, ReasonSuspended)
	w.awaitAt(kept, pending, ReasonOpenRefused)
	hangs.Store(false)
	w.awaitAt(kept, running, ReasonRunning)
	w.checkGate(keptPod, false)
	time.Sleep(2 * time.Second)
	w.checkGate(suspendedPod, true)
}

// An opening that a proxy delivers long after the controller abandoned it does not open a held Pod.
func TestLateOpeningOpensNoHeldPod(t *testing.T) {
	w := newWorld(t)
	var late sync.WaitGroup
	var delayed atomic.Int32
	transport, err := rest.TransportFor(w.config)
	w.must(err)
	target, err := url.Parse(w.config.Host)
	w.must(err)
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1}
	listener := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodPatch || !strings.Contains(request.URL.Path, "/pods/") {
			proxy.ServeHTTP(writer, request)
			return
		}
		body, _ := io.ReadAll(request.Body)
		if !strings.Contains(string(body), "schedulingGates") || !delayed.CompareAndSwap(0, 1) {
			request.Body = io.NopCloser(strings.NewReader(string(body)))
			proxy.ServeHTTP(writer, request)
			return
		}
		request = request.Clone(context.Background())
		request.Body = io.NopCloser(strings.NewReader(string(body)))
		late.Go(func() {
			time.Sleep(9 * time.Second)
			answer := httptest.NewRecorder()
			proxy.ServeHTTP(answer, request)
			if answer.Code != http.StatusConflict {
				t.Errorf("the late request: %d %s", answer.Code, answer.Body)
			}
		})
		time.Sleep(9 * time.Second)
	}))
	t.Cleanup(listener.Close)
	w.config = &rest.Config{Host: listener.URL}
	w.start()
	at := w.createAt("late", -time.Second)
	pod := w.syncPod(at)
	w.awaitAt(at, running, ReasonRunning)
	w.eventually("the opening is under way", func() error {
		if delayed.Load() == 0 {
			return fmt.Errorf("it is not")
		}
		return nil
	})
	edit(w, at, func(at *cnatv1alpha1.At) { at.Spec.Suspend = true })
	w.awaitAt(at, pending, ReasonSuspended)
	late.Wait()
	w.checkGate(pod, true)
}

// The API server drops a request whose client has gone, over HTTP/1.1 and HTTP/2.
func TestAbandonedOpeningIsDropped(t *testing.T) {
	for _, protocol := range []string{"http/1.1", "h2"} {
		t.Run(strings.NewReplacer("/", "", ".", "").Replace(protocol), func(t *testing.T) {
			w := newWorld(t)
			var asked atomic.Int32
			w.intercept("pods", false, func(*http.Request, *admissionv1.AdmissionRequest, *admissionv1.AdmissionResponse) {
				asked.Add(1)
				time.Sleep(2 * time.Second)
			})
			pod := w.syncPod(w.createAt("abandoned", time.Hour))
			config := rest.CopyConfig(server.Controller)
			config.NextProtos = []string{protocol}
			opener, err := client.New(config, client.Options{Scheme: w.Scheme()})
			w.must(err)
			patch, err := OpenPatch(pod)
			w.must(err)
			ctx, cancel := context.WithTimeout(w.ctx, time.Second)
			defer cancel()
			if err := opener.Patch(ctx, pod.DeepCopy(), patch); err == nil || asked.Load() == 0 {
				t.Fatalf("patch: %v, asked %d times", err, asked.Load())
			}
			time.Sleep(3 * time.Second)
			w.checkGate(pod, true)
		})
	}
}

// Sixty Ats of a namespace with a hanging webhook do not delay Ats of other namespaces. After ten
// seconds, no At with a hanging request is Ready.
func TestHangingNamespaceDelaysNoOther(t *testing.T) {
	w := newWorld(t)
	hanging := *w
	hanging.namespace += "-hangs"
	w.must(w.Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: hanging.namespace}}))
	hanging.intercept("pods", false, func(request *http.Request, _ *admissionv1.AdmissionRequest, _ *admissionv1.AdmissionResponse) {
		select {
		case <-request.Context().Done():
		case <-time.After(30 * time.Second):
		}
	})
	const lead = 8 * time.Second
	due := time.Now().Add(lead)
	for i := range 60 {
		hanging.syncPod(hanging.createAt(fmt.Sprint("hangs-", i), time.Until(due)))
	}
	var pods []*corev1.Pod
	for i := range 5 {
		pods = append(pods, w.syncPod(w.createAt(fmt.Sprint("waits-", i), time.Until(due))))
	}
	w.options.Namespaces = []string{w.namespace, hanging.namespace}
	w.start()
	time.Sleep(time.Until(due))
	for _, pod := range pods {
		w.checkGate(pod, false)
	}
	if late := time.Since(due); late > 3*time.Second {
		t.Errorf("the neighbours are %s late", late)
	}
	time.Sleep(time.Until(due.Add(10 * time.Second)))
	var ats cnatv1alpha1.AtList
	w.must(w.List(w.ctx, &ats, client.InNamespace(hanging.namespace)))
	for _, at := range ats.Items {
		if meta.IsStatusConditionTrue(at.Status.Conditions, condition.Ready) {
			t.Errorf("At %s is Ready: %+v", at.Name, at.Status)
		}
	}
}

// Foreign conditions of Gatehouse's types are removed, and conditions of other types stay.
func TestForeignConditionsAreRemoved(t *testing.T) {
	w := newWorld(t)
	w.isForged = func(object *unstructured.Unstructured) bool {
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(c any) bool {
			fields := c.(map[string]any)
			return fields["type"] == condition.Stalled && fields["reason"] == "Somebody"
		})
	}
	at := w.createAt("foreign", time.Hour)
	w.syncPod(at)
	w.start()
	w.awaitAt(at, pending, ReasonArmed)
	w.must(w.Get(w.ctx, client.ObjectKeyFromObject(at), at))
	for _, conditionType := range []string{condition.Stalled, "example.com/Reviewed"} {
		meta.SetStatusCondition(&at.Status.Conditions, metav1.Condition{
			Type: conditionType, Status: metav1.ConditionTrue, Reason: "Somebody", ObservedGeneration: at.Generation, LastTransitionTime: metav1.Now(),
		})
	}
	w.must(w.Status().Update(w.ctx, at, client.FieldOwner("somebody")))
	w.eventually("Stalled goes, and the other condition stays", func() error {
		w.must(w.Get(w.ctx, client.ObjectKeyFromObject(at), at))
		conditions := at.Status.Conditions
		if meta.FindStatusCondition(conditions, condition.Stalled) != nil || !meta.IsStatusConditionTrue(conditions, "example.com/Reviewed") || !meta.IsStatusConditionTrue(conditions, condition.Ready) {
			return fmt.Errorf("%+v", conditions)
		}
		return nil
	})
	version := at.ResourceVersion
	time.Sleep(time.Second)
	w.must(w.Get(w.ctx, client.ObjectKeyFromObject(at), at))
	if at.ResourceVersion != version {
		t.Errorf("the status is written again: %+v", at.Status)
	}
}

// If another process holds the lease, the replicas start due Ats and report how they end.
func TestReplicasReportWithoutALeader(t *testing.T) {
	w := newWorld(t)
	w.must(w.Create(w.ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "gatehouse-system", Name: "squatted"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("somebody"), LeaseDurationSeconds: ptr.To[int32](3600), RenewTime: ptr.To(metav1.NowMicro()),
		},
	}))
	w.Cleanup(func() {
		_ = w.Delete(context.Background(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "gatehouse-system", Name: "squatted"}})
	})
	squat := func(o *ctrl.Options) {
		o.LeaderElection = true
		o.LeaderElectionNamespace = "gatehouse-system"
		o.LeaderElectionID = "squatted"
	}
	w.start(squat)
	w.start(squat)
	at := w.createAt("led-by-nobody", -time.Second)
	pod := w.syncPod(at)
	w.awaitAt(at, running, ReasonRunning)
	w.checkGate(pod, false)
	w.writePodStatus(pod, exited(3))
	w.awaitAt(at, done, ReasonCommandFailed)
}
