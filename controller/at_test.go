package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	. "example.com/gatehouse/controller/at"
	"example.com/gatehouse/kind"
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/test/cluster"
	"example.com/gatehouse/test/expanded"
)

const (
	pending = cnatv1alpha1.AtPending
	running = cnatv1alpha1.AtRunning
	done    = cnatv1alpha1.AtDone
)

func TestAtRuns(t *testing.T) {
	w := newWorld(t)
	w.start()
	at := w.createAt("yay", 2*time.Second)
	pod := w.syncPod(at)
	armed := w.awaitAt(at, pending, ReasonArmed)
	if armed.Status.Run.PodUID != pod.UID || armed.Status.Run.PodName != pod.Name {
		t.Errorf("armed %+v, want Pod %s %s", armed.Status.Run, pod.Name, pod.UID)
	}
	w.checkGate(pod, true)

	due, err := kindat.Schedule(at.Spec)
	w.must(err)
	w.eventually("the gate opens", func() error {
		before := time.Now()
		w.must(w.Get(w.ctx, client.ObjectKeyFromObject(pod), pod))
		if len(pod.Spec.SchedulingGates) > 0 {
			if time.Since(due) > time.Second {
				t.Fatalf("closed at %s, due at %s", before, due)
			}
			return fmt.Errorf("closed")
		}
		return nil
	})
	if time.Now().Before(due) {
		t.Errorf("open before %s", due)
	}
	w.awaitAt(at, running, ReasonRunning)
	w.writePodStatus(pod, exited(0))
	ended := w.awaitAt(at, done, ReasonComplete)
	if run := ended.Status.Run; ptr.Deref(run.ExitCode, -1) != 0 || run.FinishedTime == nil || run.OpenedTime == nil || run.OpenedTime.Time.Before(due.Truncate(time.Second)) {
		t.Errorf("run is %+v", run)
	}
	w.must(w.Delete(w.ctx, pod))
	second := w.syncPod(at)
	time.Sleep(300 * time.Millisecond)
	w.checkGate(second, true)
	w.awaitAt(at, done, ReasonComplete)
	w.awaitEvents(at, "Opening", ReasonComplete)
}

// awaitEvents waits for events about an At in the events.k8s.io API.
func (w *world) awaitEvents(at *cnatv1alpha1.At, reasons ...string) {
	w.Helper()
	clients, err := kubernetes.NewForConfig(server.Admin)
	w.must(err)
	w.eventually("events", func() error {
		list, err := clients.EventsV1().Events(w.namespace).List(w.ctx, metav1.ListOptions{})
		w.must(err)
		for _, reason := range reasons {
			if !hasEvent(list.Items, at, reason) {
				return fmt.Errorf("no event %s in %v", reason, list.Items)
			}
		}
		return nil
	})
}

func hasEvent(events []eventsv1.Event, at *cnatv1alpha1.At, reason string) bool {
	for _, e := range events {
		if e.Regarding.Name == at.Name && e.Regarding.Kind == "At" && e.Reason == reason && e.ReportingController == "gatehouse-controller" {
			return true
		}
	}
	return false
}

func TestAtWritesOnceATransition(t *testing.T) {
	w := newWorld(t)
	at := w.createAt("few", 3*time.Second)
	pod := w.syncPod(at)
	versions := w.countVersions(&cnatv1alpha1.AtList{})
	w.start()
	w.awaitAt(at, pending, ReasonArmed)
	w.awaitAt(at, running, ReasonRunning)
	w.writePodStatus(pod, func(s *corev1.PodStatus) { s.Phase = corev1.PodRunning })
	w.writePodStatus(pod, exited(0))
	w.awaitAt(at, done, ReasonComplete)
	time.Sleep(300 * time.Millisecond)
	if got := versions(); got != 4 { // created, armed, running, done
		t.Errorf("the At had %d versions", got)
	}
}

func TestAtReportsOutcomeOfPod(t *testing.T) {
	for name, test := range map[string]struct {
		status   func(*corev1.PodStatus)
		reason   string
		exitCode *int32
	}{
		"command": {exited(3), ReasonCommandFailed, ptr.To[int32](3)},
		"deadline": {func(s *corev1.PodStatus) {
			s.Phase = corev1.PodFailed
			s.Reason = "DeadlineExceeded"
		}, ReasonActiveDeadlineExceeded, nil},
		"evicted": {func(s *corev1.PodStatus) {
			s.Phase = corev1.PodFailed
			s.Reason = "Evicted"
		}, ReasonPodFailed, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.start()
			at := w.createAt("fails", -time.Minute)
			pod := w.syncPod(at)
			w.awaitAt(at, running, ReasonRunning)
			w.writePodStatus(pod, test.status)
			ended := w.awaitAt(at, done, test.reason)
			if got := ended.Status.Run.ExitCode; ptr.Deref(got, -1) != ptr.Deref(test.exitCode, -1) {
				t.Errorf("exit code %v", got)
			}
			if !meta.IsStatusConditionTrue(ended.Status.Conditions, Failed) {
				t.Errorf("not Failed: %v", ended.Status.Conditions)
			}
			if message := meta.FindStatusCondition(ended.Status.Conditions, "Ready").Message; name == "command" && !strings.HasSuffix(message, "the end of the log") {
				t.Errorf("message %q lacks the log", message)
			}
		})
	}
}

func TestAtStatusFollowsPod(t *testing.T) {
	w := newWorld(t)
	w.start()
	at := w.createAt("slow", -time.Minute)
	pod := w.syncPod(at)
	w.awaitAt(at, running, ReasonRunning)
	scheduled := func(status corev1.ConditionStatus, reason string) func(*corev1.PodStatus) {
		return func(s *corev1.PodStatus) {
			s.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: status, Reason: reason}}
		}
	}
	w.writePodStatus(pod, scheduled(corev1.ConditionFalse, corev1.PodReasonUnschedulable))
	w.awaitAt(at, running, ReasonUnschedulable)
	w.writePodStatus(pod, scheduled(corev1.ConditionTrue, ""))
	w.awaitAt(at, running, ReasonRunning)
	w.writePodStatus(pod, func(s *corev1.PodStatus) {
		s.ContainerStatuses = []corev1.ContainerStatus{{Name: kindat.CommandContainer, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
	})
	w.awaitAt(at, running, ReasonImageNotPulled)
}

func TestAtWithStaleRenderingDoesNotStart(t *testing.T) {
	w := newWorld(t)
	w.options.Grace = 2 * time.Second
	w.start()
	at := w.createAt("stale", time.Hour)
	w.awaitAt(at, pending, ReasonPodMissing)
	pod := w.syncPod(at)
	w.awaitAt(at, pending, ReasonArmed)

	edit(w, at, func(at *cnatv1alpha1.At) { at.Spec.Schedule = "2020-01-01T00:00:00Z" })
	waiting := w.awaitAt(at, pending, ReasonRenderingStale)
	if !meta.IsStatusConditionTrue(waiting.Status.Conditions, "Reconciling") {
		t.Errorf("not Reconciling at first: %v", waiting.Status.Conditions)
	}
	w.eventually("Stalled after the grace period", func() error {
		if current := w.awaitAt(at, pending, ReasonRenderingStale); !meta.IsStatusConditionTrue(current.Status.Conditions, "Stalled") {
			return fmt.Errorf("%v", current.Status.Conditions)
		}
		return nil
	})
	w.checkGate(pod, true)
	next := w.syncPod(at)
	w.awaitAt(at, running, ReasonRunning)
	w.checkGate(next, false)
	w.checkGate(pod, true)
}

func TestAtScheduleIsBroughtForwardAndPutOff(t *testing.T) {
	w := newWorld(t)
	w.start()
	at := w.createAt("moves", time.Second)
	first := w.syncPod(at)
	w.awaitAt(at, pending, ReasonArmed)
	edit(w, at, func(at *cnatv1alpha1.At) {
		at.Spec.Schedule = time.Now().Add(time.Hour).Format(time.RFC3339Nano)
	})
	w.syncPod(at)
	w.awaitAt(at, pending, ReasonArmed)
	time.Sleep(1200 * time.Millisecond)
	w.checkGate(first, true)
	edit(w, at, func(at *cnatv1alpha1.At) {
		at.Spec.Schedule = time.Now().Add(500 * time.Millisecond).In(time.FixedZone("", 5400)).Format(time.RFC3339Nano)
	})
	third := w.syncPod(at)
	w.awaitAt(at, running, ReasonRunning)
	w.checkGate(third, false)
}

func TestSuspendedAtDoesNotStart(t *testing.T) {
	w := newWorld(t)
	w.start()
	suspend := func(at *cnatv1alpha1.At) { at.Spec.Suspend = true }
	resume := func(at *cnatv1alpha1.At) { at.Spec.Suspend = false }

	at := w.createAt("held", -time.Minute, suspend)
	pod := w.syncPod(at)
	w.awaitAt(at, pending, ReasonSuspended)
	time.Sleep(200 * time.Millisecond)
	w.checkGate(pod, true)
	edit(w, at, resume)
	w.awaitAt(at, running, ReasonRunning)

	late := w.createAt("late", time.Second, suspend, func(at *cnatv1alpha1.At) { at.Spec.StartingDeadlineSeconds = ptr.To[int64](1) })
	latePod := w.syncPod(late)
	w.awaitAt(late, done, ReasonDeadlineMissed)
	edit(w, late, resume)
	w.awaitAt(late, done, ReasonDeadlineMissed)
	w.checkGate(latePod, true)
}

// A new Pod replaces a Pod that is deleted before it is due. While the At is suspended, that holds
// after the due time, too.
func TestAtPodIsReplacedBeforeItStarts(t *testing.T) {
	w := newWorld(t)
	w.start()
	at := w.createAt("upgraded", 2*time.Second, func(at *cnatv1alpha1.At) { at.Spec.Suspend = true })
	old := w.syncPod(at)
	w.awaitAt(at, pending, ReasonSuspended)
	next := w.syncPod(at, "v2")
	w.must(w.Delete(w.ctx, old))
	w.awaitArmed(at, next)

	due, err := kindat.Schedule(at.Spec)
	w.must(err)
	time.Sleep(time.Until(due) + 100*time.Millisecond)
	last := w.syncPod(at, "v3")
	w.must(w.Delete(w.ctx, next))
	w.awaitArmed(at, last)
	edit(w, at, func(at *cnatv1alpha1.At) { at.Spec.Suspend = false })
	w.awaitAt(at, running, ReasonRunning)
	w.checkGate(last, false)
}

func (w *world) awaitArmed(at *cnatv1alpha1.At, pod *corev1.Pod) {
	w.Helper()
	w.eventually("Pod "+pod.Name+" is armed", func() error {
		w.must(w.Get(w.ctx, client.ObjectKeyFromObject(at), at))
		if run := at.Status.Run; run == nil || run.PodUID != pod.UID {
			return fmt.Errorf("run is %+v", run)
		}
		return nil
	})
}

func TestAtWithLostPodFails(t *testing.T) {
	w := newWorld(t)
	stop := w.start()
	at := w.createAt("lost", 1500*time.Millisecond)
	pod := w.syncPod(at)
	w.awaitAt(at, pending, ReasonArmed)
	w.checkGate(pod, false)
	w.awaitAt(at, running, ReasonRunning)
	stop()
	// While no controller is there, the command may end and its Pod be deleted.
	w.must(w.Delete(w.ctx, pod))
	second := w.syncPod(at)
	w.start()
	w.awaitAt(at, done, ReasonPodLost)
	w.checkGate(second, true)
}

// A Pod without a recorded start did not start, no matter when it is deleted.
func TestAtPodIsReplacedWhileNoStartIsOnRecord(t *testing.T) {
	w := newWorld(t)
	stop := w.start()
	at := w.createAt("late", 3*time.Second)
	pod := w.syncPod(at)
	w.awaitAt(at, pending, ReasonArmed)
	stop()
	due, err := kindat.Schedule(at.Spec)
	w.must(err)
	time.Sleep(time.Until(due) + 100*time.Millisecond)
	w.must(w.Delete(w.ctx, pod))
	second := w.syncPod(at)
	w.start()
	w.awaitAt(at, running, ReasonRunning)
	w.checkGate(second, false)
}

// An At that is deleted and created again adopts the running Pod.
func TestRecreatedAtAdoptsRunningPod(t *testing.T) {
	w := newWorld(t)
	w.start()
	at := w.createAt("again", -time.Minute)
	pod := w.syncPod(at)
	w.awaitAt(at, running, ReasonRunning)
	w.checkGate(pod, false)
	w.must(w.Delete(w.ctx, at))
	spare := w.syncPod(at, "spare")
	at.ObjectMeta = metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name}
	w.must(w.Create(w.ctx, at))
	w.awaitAt(at, running, ReasonRunning)
	w.writePodStatus(pod, exited(0))
	w.awaitAt(at, done, ReasonComplete)
	w.checkGate(spare, true)
}

// A reverted spec does not run again.
func TestRevertedAtDoesNotRunAgain(t *testing.T) {
	w := newWorld(t)
	w.start()
	at := w.createAt("revert", -time.Minute)
	first := at.Spec
	pod := w.syncPod(at)
	w.awaitAt(at, running, ReasonRunning)
	w.writePodStatus(pod, exited(0))
	w.awaitAt(at, done, ReasonComplete)

	edit(w, at, func(at *cnatv1alpha1.At) { at.Spec.Command = "echo other" })
	w.must(w.Delete(w.ctx, pod))
	w.syncPod(at)
	w.awaitAt(at, running, ReasonRunning)

	edit(w, at, func(at *cnatv1alpha1.At) { at.Spec = first })
	second := w.syncPod(at)
	w.awaitAt(at, done, ReasonAlreadyRan)
	w.checkGate(second, true)
}

func TestTwoControllersOpenOnePodPerAt(t *testing.T) {
	w := newWorld(t)
	w.start()
	w.start()
	const count = 20
	due := time.Now().Add(2 * time.Second)
	ats := make([]*cnatv1alpha1.At, count)
	pods := make([]*corev1.Pod, count)
	for i := range ats {
		ats[i] = w.createAt(fmt.Sprint("two-", i), time.Until(due))
		pods[i] = w.syncPod(ats[i])
	}
	for i, at := range ats {
		w.awaitAt(at, running, ReasonRunning)
		w.checkGate(pods[i], false)
		w.writePodStatus(pods[i], exited(0))
		w.awaitAt(at, done, ReasonComplete)
	}
	var all corev1.PodList
	w.must(w.List(w.ctx, &all, client.InNamespace(w.namespace)))
	open := map[string]int{}
	for _, pod := range all.Items {
		if len(pod.Spec.SchedulingGates) == 0 {
			open[pod.Labels[kindat.Label]]++
		}
	}
	for _, at := range ats {
		if open[at.Name] != 1 {
			t.Errorf("At %s has %d open Pods", at.Name, open[at.Name])
		}
	}
}

// A user who may not create Pods, but ReplicaSets and the like, cannot pass a Pod off as an At's.
func TestAtOpensOnlyRenderedPods(t *testing.T) {
	w := newWorld(t)
	at := w.createAt("posed", -time.Minute)
	var posing []*corev1.Pod
	for _, pose := range []func(*corev1.Pod){
		func(pod *corev1.Pod) {
			pod.Name = "posed-0123456789"
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "a", UID: "b"}}
		},
		func(pod *corev1.Pod) {
			pod.Name = "posed-1000000000"
			pod.GenerateName = "posed-"
		},
		func(pod *corev1.Pod) {
			pod.Name = ""
			pod.GenerateName = "posed-"
		},
		func(pod *corev1.Pod) { pod.Name = "posed" },
		func(pod *corev1.Pod) { pod.Name = "posed-7xk2p" },
		func(pod *corev1.Pod) { pod.Name = "other-0123456789" },
	} {
		pod := expanded.First[corev1.Pod](kindat.Kind, at)
		pose(pod)
		w.must(w.Create(w.ctx, pod))
		posing = append(posing, pod)
	}
	w.start()
	waiting := w.awaitAt(at, pending, ReasonPodMissing)
	if message := meta.FindStatusCondition(waiting.Status.Conditions, "Ready").Message; !strings.Contains(message, "has its label but was not rendered from it") {
		t.Errorf("message %q", message)
	}
	pod := w.syncPod(at)
	if opened := w.awaitAt(at, running, ReasonRunning); opened.Status.Run.PodUID != pod.UID {
		t.Errorf("run is %+v", opened.Status.Run)
	}
	for _, pod := range posing {
		w.checkGate(pod, true)
	}
}

// The status reports a refusal of the API server for as long as it lasts.
func TestAtReportsRefusal(t *testing.T) {
	w := newWorld(t)
	w.start()
	at := w.createAt("refused", 3*time.Second)
	pod := w.syncPod(at)
	w.awaitAt(at, pending, ReasonArmed)
	w.denyGates()
	w.awaitAt(at, pending, ReasonOpenRefused)
	w.checkGate(pod, true)
	w.allowGates()
	w.awaitAt(at, running, ReasonRunning)
}

// A quantity that clients cannot decode would hide every At from every watch.
func TestAtRefusesUndecodableQuantities(t *testing.T) {
	w := newWorld(t)
	for _, spec := range []string{
		`"resources": {"limits": {"memory": "1E1.5"}}`,
		`"resources": {"requests": {"cpu": "1e999999999999999999999"}}`,
		`"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1E.5"}}}]`,
	} {
		at := &unstructured.Unstructured{}
		w.must(at.UnmarshalJSON([]byte(`{"apiVersion": "cnat.programming-kubernetes.info/v1alpha1", "kind": "At", "metadata": {"name": "bad", "namespace": "` +
			w.namespace + `"}, "spec": {"schedule": "2030-01-01T00:00:00Z", "command": "a", ` + spec + `}}`)))
		if err := w.Create(w.ctx, at); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v, want it refused", spec, err)
		}
	}
}

// An earlier version rendered an At's own managed-by label into its Pod, so that no watch shows the
// Pod. Its command runs all the same.
func TestPodWithAnotherManagerRuns(t *testing.T) {
	w := newWorld(t)
	yay := w.createAt("yay", 2*time.Second, func(at *cnatv1alpha1.At) {
		at.Labels = map[string]string{kind.ManagedByLabel: "Helm"}
	})
	rendered, err := cluster.Rendered(yay, w.Scheme(), w.kinds().All)
	w.must(err)
	pod := &corev1.Pod{}
	w.must(runtime.DefaultUnstructuredConverter.FromUnstructured(rendered[0].Object, pod))
	pod.Labels[kind.ManagedByLabel] = "Helm"
	w.must(w.Create(w.ctx, pod))
	w.start()
	w.awaitAt(yay, running, ReasonRunning)
	w.checkGate(pod, false)
	w.writePodStatus(pod, exited(0))
	w.awaitAt(yay, done, ReasonComplete)
}
