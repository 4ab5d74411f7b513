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
	kindat "example.com/gatehouse/kind/at"
	"example.com/gatehouse/kind/condition"
	"example.com/gatehouse/test/health"
)

// history is what has to be known of the past of a cluster to judge what it is asked to do.
type history struct {
	// record has, by At, the Pod whose start its latest status has on record.
	record map[types.UID]types.UID
	// unheld are the Pods that the API server did not let a controller hold, each with its At.
	unheld map[types.UID]types.UID
	// starts has, by digest, the At for which a controller opened a Pod, or that got a status
	// from who saw one of an earlier spec open.
	starts map[string]types.UID
}

// with returns a map with one more entry.
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

// opened judges that a controller opens the gate of a Pod.
func (h history) opened(q *request, pod *corev1.Pod) (history, error) {
	digest, at, now := digestOfPod(pod), q.from.at, q.from.Now()
	origin := h.unheld[pod.UID]
	for at, recorded := range h.record {
		if recorded == pod.UID {
			origin = at
		}
	}
	other := slices.IndexFunc(q.from.read, func(other corev1.Pod) bool {
		return !poses(&other) && !isGated(&other) && digestOfPod(&other) == digest
	})
	switch {
	case !isGated(pod):
		return h, fmt.Errorf("Pod %s is opened again", pod.UID)
	case poses(pod):
		return h, fmt.Errorf("Pod %s is opened, which was not rendered", pod.UID)
	case now.Before(dueOf(pod)):
		return h, fmt.Errorf("Pod %s is opened by a decision at %s, due at %s", pod.UID, now, dueOf(pod))
	case at.Spec.Suspend || digest != kindat.Digest(at.Spec) || isPastDeadline(at, now):
		return h, fmt.Errorf("Pod %s is opened, which is not to start by the At that was decided on", pod.UID)
	case origin == "":
		return h, fmt.Errorf("Pod %s is opened, whose start is not on record, or was taken back", pod.UID)
	case other >= 0:
		return h, fmt.Errorf("Pod %s is opened after %s of the same digest was seen open", pod.UID, q.from.read[other].UID)
	case h.starts[digest] != "":
		return h, fmt.Errorf("Pod %s is opened, and one of its digest was before", pod.UID)
	}
	h.starts = with(h.starts, digest, origin)
	return h, nil
}

// applied judges that a controller gives an At a status.
func (h history) applied(c cluster, q *request, at *cnatv1alpha1.At) (history, error) {
	if !q.isChecked {
		if err := checkStatus(at); err != nil {
			return h, err
		}
		q.isChecked = true
	}
	for i := range q.from.read {
		pod := &q.from.read[i]
		isKnown := !poses(pod) && !isGated(pod) && condition.FindReady(at.Status.Conditions).Reason != ReasonOpenRefused
		if isKnown && h.starts[digestOfPod(pod)] != at.UID {
			h.starts = with(h.starts, digestOfPod(pod), at.UID)
		}
	}
	run := at.Status.Run
	switch {
	case run == nil || !isClaimed(*run) || run.PodUID == "" || run.FinishedTime != nil || at.Status.Phase == cnatv1alpha1.AtDone:
		h.record = without(h.record, at.UID)
	case putsOnRecord(c.at.Status, at.Status):
		h.record = with(h.record, at.UID, run.PodUID)
		return h, checkClaim(q, at)
	case h.record[at.UID] != run.PodUID: // it stays taken back
		h.record = without(h.record, at.UID)
	}
	return h, nil
}

// putsOnRecord reports whether a status puts a start on record that the one before has not.
func putsOnRecord(before, next cnatv1alpha1.AtStatus) bool {
	last := before.Run
	return next.Run != nil && isClaimed(*next.Run) && (last == nil || !isClaimed(*last) || last.PodUID != next.Run.PodUID)
}

// checkClaim judges that a controller puts the start of a Pod on record, which it did not
// see open.
func checkClaim(q *request, at *cnatv1alpha1.At) error {
	run := at.Status.Run
	i := slices.IndexFunc(q.from.read, func(pod corev1.Pod) bool { return pod.UID == run.PodUID })
	if i < 0 {
		return fmt.Errorf("the start of Pod %s is put on record, which nobody saw", run.PodUID)
	}
	pod, now := &q.from.read[i], q.from.Now()
	if !isGated(pod) {
		return nil
	}
	digest := kindat.Digest(at.Spec)
	others := slices.ContainsFunc(q.from.pods, func(other *corev1.Pod) bool {
		return other.UID != pod.UID && !poses(other) && digestOfPod(other) == digest && other.DeletionTimestamp == nil
	})
	switch {
	case poses(pod):
		return fmt.Errorf("the start of Pod %s is put on record, which was not rendered", pod.UID)
	case run.Digest != digest || digestOfPod(pod) != digest:
		return fmt.Errorf("the start of Pod %s is put on record, of another spec", pod.UID)
	case pod.DeletionTimestamp != nil:
		return fmt.Errorf("the start of Pod %s is put on record, which is going", pod.UID)
	case others:
		return fmt.Errorf("the start of Pod %s is put on record, and there is another of its digest", pod.UID)
	case at.Spec.Suspend:
		return fmt.Errorf("the start of Pod %s is put on record while the At is suspended", pod.UID)
	case isPastDeadline(at, now):
		return fmt.Errorf("the start of Pod %s is put on record at %s, past its deadline", pod.UID, now)
	case now.Before(scheduleOf(at).Add(-10 * time.Second)):
		return fmt.Errorf("the start of Pod %s is put on record at %s, long before it is due", pod.UID, now)
	}
	return nil
}

// isPastDeadline reports whether it is too late to start an At.
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

// refused notes that admission refuses a request.
func (c cluster) refused(q *request) cluster {
	if q.verb == hold {
		c.unheld = with(c.unheld, q.uid, q.from.at.UID)
	}
	return c
}

// forget forgets a start that nobody can know of: its Pod is gone, and so is the At that
// it was for, and no status names its digest.
func (c cluster) forget() cluster {
	for digest, origin := range c.starts {
		isThere := slices.ContainsFunc(c.pods, func(pod *corev1.Pod) bool {
			return digestOfPod(pod) == digest && !isGated(pod) && !poses(pod)
		})
		if !isThere && (c.at == nil || c.at.UID != origin) && !isRecorded(c.at, digest) {
			c.starts = without(c.starts, digest)
		}
	}
	return c
}

// isRecorded reports whether the status of an At says that a digest may have started.
func isRecorded(at *cnatv1alpha1.At, digest string) bool {
	if at == nil {
		return false
	}
	run := at.Status.Run
	return run != nil && run.Digest == digest && (at.Status.Phase != cnatv1alpha1.AtPending || isClaimed(*run)) ||
		slices.ContainsFunc(at.Status.Ran, func(entry string) bool { return digestOf(entry) == digest })
}

// dueOf returns when a Pod is due: its creator tells, and no controller reads it.
func dueOf(pod *corev1.Pod) time.Time {
	due, err := time.Parse(time.RFC3339Nano, pod.Annotations[dueAnnotation])
	if err != nil {
		panic(err)
	}
	return due
}

const dueAnnotation = "due"

// posingName begins the names of Pods that no renderer gives.
const posingName = "at-x"

// poses reports whether a Pod was not rendered.
func poses(pod *corev1.Pod) bool {
	return len(pod.OwnerReferences) > 0 || pod.GenerateName != "" || strings.HasPrefix(pod.Name, posingName)
}

// checkStatus asserts that kstatus reads a status as it is meant.
func checkStatus(at *cnatv1alpha1.At) error {
	conditions := at.Status.Conditions
	meanings := map[string]kstatus.Status{condition.Ready: kstatus.CurrentStatus, condition.Reconciling: kstatus.InProgressStatus, condition.Stalled: kstatus.FailedStatus}
	var said []string
	for conditionType := range meanings {
		if meta.IsStatusConditionTrue(conditions, conditionType) {
			said = append(said, conditionType)
		}
	}
	if len(said) != 1 {
		return fmt.Errorf("the status says %v: %+v", said, at.Status)
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
	if at.Status.ObservedGeneration == at.Generation && computed.Status != meanings[said[0]] {
		return fmt.Errorf("kstatus computes %s: %+v", computed.Status, at.Status)
	}
	if !slices.Contains([]cnatv1alpha1.AtPhase{cnatv1alpha1.AtPending, cnatv1alpha1.AtRunning, cnatv1alpha1.AtDone}, at.Status.Phase) {
		return fmt.Errorf("phase %q", at.Status.Phase)
	}
	return nil
}

// untyped returns an At as the API server has it.
func untyped(at *cnatv1alpha1.At) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(at)
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(cnatv1alpha1.SchemeGroupVersion.WithKind(cnatv1alpha1.KindAt))
	return u, err
}
