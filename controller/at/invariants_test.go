package at

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind"
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/condition"
	"example.com/gatehouse/test/health"
)

// history is the past of a cluster. Every write is judged by it.
type history struct {
	// record maps an At to the recorded start in its latest status.
	record map[types.UID]recordedStart
	// unheld maps each Pod whose hold the API server refused to its At.
	unheld map[types.UID]types.UID
	// starts maps the digest of each known start to its At: a controller opened the Pod, or saw it
	// open before it wrote the status.
	starts map[string]types.UID
}

// recordedStart is the start of a Pod, with the last hold of the Pod before it.
type recordedStart struct {
	pod     types.UID
	heldFor string
}

// with returns a copy of a map with one more entry.
func with[K comparable, V any](m map[K]V, key K, value V) map[K]V {
	m = maps.Clone(m)
	if m == nil {
		m = map[K]V{}
	}
	m[key] = value
	return m
}

func without[K comparable, V any](m map[K]V, key K) map[K]V {
	m = maps.Clone(m)
	delete(m, key)
	return m
}

// judgeOpen judges a request that opens the gate of a Pod.
func (h history) judgeOpen(q *request, pod *corev1.Pod) (history, error) {
	digest := digestOfPod(pod)
	at := q.from.at
	now := q.from.Now()
	origin := h.unheld[pod.UID]
	for at, recorded := range h.record {
		if recorded.pod == pod.UID {
			origin = at
		}
	}
	other := slices.IndexFunc(q.from.read, func(other corev1.Pod) bool {
		return !isForeign(&other) && !isGated(&other) && digestOfPod(&other) == digest
	})
	switch {
	case !isGated(pod):
		return h, fmt.Errorf("Pod %s is opened again", pod.UID)
	case isForeign(pod):
		return h, fmt.Errorf("Pod %s is opened, but was not rendered", pod.UID)
	case now.Before(dueOf(pod)):
		return h, fmt.Errorf("Pod %s is opened by a decision at %s, before it is due at %s", pod.UID, now, dueOf(pod))
	case at.Spec.Suspend || digest != kindat.Digest(at.Spec) || isPastDeadline(at, now):
		return h, fmt.Errorf("Pod %s is opened, but its At is suspended, past its deadline or of another spec", pod.UID)
	case q.from.readAt == nil || q.from.readAt.UID != at.UID || q.from.readAt.Generation != at.Generation:
		return h, fmt.Errorf("Pod %s is opened, but its At was edited, suspended or deleted before the request was sent", pod.UID)
	case origin == "":
		return h, fmt.Errorf("Pod %s is opened without a recorded start", pod.UID)
	case other >= 0:
		return h, fmt.Errorf("Pod %s is opened after the controller saw Pod %s of the same digest open", pod.UID, q.from.read[other].UID)
	case h.starts[digest] != "":
		return h, fmt.Errorf("Pod %s is opened after another Pod of its digest started", pod.UID)
	}
	h.starts = with(h.starts, digest, origin)
	return h, nil
}

// judgeStatus judges a request that writes the status of an At.
func (h history) judgeStatus(c cluster, q *request, at *cnatv1alpha1.At) (history, error) {
	if !q.isChecked {
		if err := checkStatus(at); err != nil {
			return h, err
		}
		q.isChecked = true
	}
	if err := c.checkHeld(q, at.Status); err != nil {
		return h, err
	}
	for i := range q.from.read {
		pod := &q.from.read[i]
		isKnown := !isForeign(pod) && !isGated(pod) && condition.FindReady(at.Status.Conditions).Reason != ReasonOpenRefused
		if isKnown && h.starts[digestOfPod(pod)] != at.UID {
			h.starts = with(h.starts, digestOfPod(pod), at.UID)
		}
	}
	run := at.Status.Run
	switch {
	case run == nil || !isClaimed(*run) || run.PodUID == "" || run.FinishedTime != nil:
		h.record = without(h.record, at.UID)
	case at.Status.Phase == cnatv1alpha1.AtDone && q.from.unheld != run.PodUID: // after a hold in vain it may yet start
		h.record = without(h.record, at.UID)
	case recordsStart(c.at.Status, at.Status):
		h.record = with(h.record, at.UID, c.recordedStart(run.PodUID))
		return h, checkClaim(q, at)
	case h.record[at.UID].pod != run.PodUID: // a start that was taken back stays so
		h.record = without(h.record, at.UID)
	}
	return h, nil
}

// checkHeld checks that a status takes a recorded start back only if no in-flight request can open its
// Pod: the Pod was held. A status after a hold in vain may end the run, but keeps the recorded start.
func (c cluster) checkHeld(q *request, next cnatv1alpha1.AtStatus) error {
	last := c.at.Status.Run
	run := next.Run
	pod := c.recordedPod()
	if pod == nil || c.recordedStart(pod.UID) != c.record[c.at.UID] {
		return nil
	}
	isKept := run != nil && isClaimed(*run) && run.PodUID == last.PodUID
	if !isKept || next.Phase == cnatv1alpha1.AtDone && q.from.unheld != pod.UID {
		return fmt.Errorf("the start of Pod %s is taken back, but the Pod is not held", pod.UID)
	}
	return nil
}

// recordedPod returns the gated Pod whose start the status of the At records, or nil.
func (c cluster) recordedPod() *corev1.Pod {
	last := c.statusOfAt().Run
	if last == nil || !isClaimed(*last) || last.FinishedTime != nil {
		return nil
	}
	i := slices.IndexFunc(c.pods, func(pod *corev1.Pod) bool { return pod.UID == last.PodUID && isGated(pod) && !isForeign(pod) })
	if i < 0 {
		return nil
	}
	return c.pods[i]
}

func (c cluster) recordedStart(uid types.UID) recordedStart {
	start := recordedStart{pod: uid}
	for _, pod := range c.pods {
		if pod.UID == uid {
			start.heldFor = pod.Annotations[kind.HeldAnnotation]
		}
	}
	return start
}

// recordsStart reports whether a status records a start that the previous status lacks.
func recordsStart(previous, next cnatv1alpha1.AtStatus) bool {
	last := previous.Run
	return next.Run != nil && isClaimed(*next.Run) && (last == nil || !isClaimed(*last) || last.PodUID != next.Run.PodUID)
}

// checkClaim checks a status that records the start of a Pod. A Pod that is open already has started
// anyway.
func checkClaim(q *request, at *cnatv1alpha1.At) error {
	run := at.Status.Run
	i := slices.IndexFunc(q.from.read, func(pod corev1.Pod) bool { return pod.UID == run.PodUID })
	if i < 0 {
		return fmt.Errorf("the start of Pod %s is recorded, but the controller never read the Pod", run.PodUID)
	}
	pod := &q.from.read[i]
	now := q.from.Now()
	if !isGated(pod) {
		return nil
	}
	digest := kindat.Digest(at.Spec)
	others := slices.ContainsFunc(q.from.pods, func(other *corev1.Pod) bool {
		return other.UID != pod.UID && !isForeign(other) && digestOfPod(other) == digest && other.DeletionTimestamp == nil
	})
	switch {
	case isForeign(pod):
		return fmt.Errorf("the start of Pod %s is recorded, but the Pod was not rendered", pod.UID)
	case run.Digest != digest || digestOfPod(pod) != digest:
		return fmt.Errorf("the start of Pod %s is recorded, but the Pod has another spec", pod.UID)
	case pod.DeletionTimestamp != nil:
		return fmt.Errorf("the start of Pod %s is recorded while the Pod is being deleted", pod.UID)
	case others:
		return fmt.Errorf("the start of Pod %s is recorded while another Pod has its digest", pod.UID)
	case at.Spec.Suspend:
		return fmt.Errorf("the start of Pod %s is recorded while the At is suspended", pod.UID)
	case isPastDeadline(at, now):
		return fmt.Errorf("the start of Pod %s is recorded at %s, past its deadline", pod.UID, now)
	case now.Before(scheduleOf(at).Add(-10 * time.Second)):
		return fmt.Errorf("the start of Pod %s is recorded at %s, long before it is due", pod.UID, now)
	}
	return nil
}

func isPastDeadline(at *cnatv1alpha1.At, now time.Time) bool {
	seconds := at.Spec.StartingDeadlineSeconds
	return seconds != nil && now.After(kindat.Deadline(scheduleOf(at), *seconds))
}

func scheduleOf(at *cnatv1alpha1.At) time.Time {
	due, err := kindat.Schedule(at.Spec)
	if err != nil {
		panic(err)
	}
	return due
}

// withRefusal records that admission refused a request.
func (c cluster) withRefusal(q *request) cluster {
	if q.verb == hold {
		c.unheld = with(c.unheld, q.uid, q.from.at.UID)
	}
	return c
}

// forgetStarts forgets the starts that no controller can know of: the Pod and its At are gone, and no
// status names the digest.
func (c cluster) forgetStarts() cluster {
	for digest, origin := range c.starts {
		hasOpenPod := slices.ContainsFunc(c.pods, func(pod *corev1.Pod) bool {
			return digestOfPod(pod) == digest && !isGated(pod) && !isForeign(pod)
		})
		if !hasOpenPod && (c.at == nil || c.at.UID != origin) && !isRecorded(c.at, digest) {
			c.starts = without(c.starts, digest)
		}
	}
	return c
}

// isRecorded reports whether the status of an At names a digest that may have started.
func isRecorded(at *cnatv1alpha1.At, digest string) bool {
	if at == nil {
		return false
	}
	run := at.Status.Run
	return run != nil && run.Digest == digest && (at.Status.Phase != cnatv1alpha1.AtPending || isClaimed(*run)) ||
		slices.ContainsFunc(at.Status.Ran, func(entry string) bool { return digestOf(entry) == digest })
}

// dueOf returns the due instant of a Pod, from an annotation that no controller reads.
func dueOf(pod *corev1.Pod) time.Time {
	due, err := time.Parse(time.RFC3339Nano, pod.Annotations[dueAnnotation])
	if err != nil {
		panic(err)
	}
	return due
}

const dueAnnotation = "due"

// foreignName is the prefix of Pod names that render never gives.
const foreignName = "at-x"

// isForeign reports whether a Pod was not rendered.
func isForeign(pod *corev1.Pod) bool {
	return len(pod.OwnerReferences) > 0 || pod.GenerateName != "" || strings.HasPrefix(pod.Name, foreignName)
}

// checkStatus checks that kstatus computes the intended meaning of a status.
func checkStatus(at *cnatv1alpha1.At) error {
	conditions := at.Status.Conditions
	meanings := map[string]kstatus.Status{condition.Ready: kstatus.CurrentStatus, condition.Reconciling: kstatus.InProgressStatus, condition.Stalled: kstatus.FailedStatus}
	var trueTypes []string
	for conditionType := range meanings {
		if meta.IsStatusConditionTrue(conditions, conditionType) {
			trueTypes = append(trueTypes, conditionType)
		}
	}
	if len(trueTypes) != 1 {
		return fmt.Errorf("conditions %v are True, want one of three: %+v", trueTypes, at.Status)
	}
	object, err := untyped(at)
	if err != nil {
		return err
	}
	computed, err := kstatus.Compute(object)
	if err != nil {
		return err
	}
	if err := health.Check(object); err != nil {
		return err
	}
	if at.Status.ObservedGeneration == at.Generation && computed.Status != meanings[trueTypes[0]] {
		return fmt.Errorf("kstatus computes %s, want %s: %+v", computed.Status, meanings[trueTypes[0]], at.Status)
	}
	if !slices.Contains([]cnatv1alpha1.AtPhase{cnatv1alpha1.AtPending, cnatv1alpha1.AtRunning, cnatv1alpha1.AtDone}, at.Status.Phase) {
		return fmt.Errorf("unknown phase %q", at.Status.Phase)
	}
	return nil
}

// untyped returns an At as the API server stores it.
func untyped(at *cnatv1alpha1.At) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(at)
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(cnatv1alpha1.SchemeGroupVersion.WithKind(cnatv1alpha1.KindAt))
	return u, err
}
