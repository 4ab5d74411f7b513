package at

import (
	"context"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
	kindat "example.com/gatehouse/kind/at"
)

// trimAt reduces an At to the fields that decisions use, and to the conditions that Gatehouse owns. Its
// command is replaced by the digests of its spec.
func trimAt(at *cnatv1alpha1.At) {
	meta := setup.Identity(at)
	if manager, ok := at.Labels[kind.ManagedByLabel]; ok {
		meta.Labels = map[string]string{kind.ManagedByLabel: manager}
	}
	if status.IsForeign(at.ManagedFields, "ran") {
		meta.Annotations = map[string]string{ranForeign: "true"}
	}
	*at = cnatv1alpha1.At{ObjectMeta: meta, Status: at.Status, Spec: cnatv1alpha1.AtSpec{
		Schedule:                at.Spec.Schedule,
		Command:                 strings.Join(slices.Compact(kindat.Digests(at.Spec)), " "),
		Suspend:                 at.Spec.Suspend,
		StartingDeadlineSeconds: at.Spec.StartingDeadlineSeconds,
	}}
	at.Status.Conditions = slices.DeleteFunc(at.Status.Conditions, func(c metav1.Condition) bool {
		return !slices.Contains(conditionTypes, c.Type)
	})
}

// ranForeign marks an At in the cache whose list status.ran another client wrote.
const ranForeign = "gatehouse.example.com/ran-foreign"

// digests returns the digests that a run or a Pod of a trimmed At may have: first this version's, then
// earlier ones'.
func digests(at *cnatv1alpha1.At) []string {
	return strings.Fields(at.Spec.Command)
}

// cachedPod is a Pod in the cache, reduced to the fields that decisions use. It takes a fifth of the
// memory of a corev1.Pod.
type cachedPod struct {
	metav1.ObjectMeta
	at, digest string // a label and an annotation
	gates      []corev1.PodSchedulingGate
	status     *corev1.PodStatus // nil while the Pod is gated
}

func trimPod(pod *corev1.Pod) *cachedPod {
	trimmed := &cachedPod{
		ObjectMeta: setup.Identity(pod),
		at:         pod.Labels[kindat.Label],
		digest:     pod.Annotations[kind.DigestAnnotation],
		gates:      pod.Spec.SchedulingGates,
	}
	trimmed.GenerateName, trimmed.OwnerReferences = pod.GenerateName, pod.OwnerReferences
	if isGated(pod) {
		return trimmed
	}
	trimmed.status = &corev1.PodStatus{Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message}
	if scheduled := scheduledCondition(pod); scheduled.Type != "" {
		trimmed.status.Conditions = []corev1.PodCondition{scheduled}
	}
	if command := commandStatus(pod); command.Name != "" {
		trimmed.status.ContainerStatuses = []corev1.ContainerStatus{{Name: command.Name, State: command.State}}
	}
	return trimmed
}

// GetLabels implements metav1.Object.
func (p *cachedPod) GetLabels() map[string]string { return map[string]string{kindat.Label: p.at} }

// GetObjectKind implements runtime.Object.
func (p *cachedPod) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the corev1.Pod, since readers of the cache get deep copies.
func (p *cachedPod) DeepCopyObject() runtime.Object {
	pod := &corev1.Pod{Spec: corev1.PodSpec{SchedulingGates: slices.Clone(p.gates)}}
	p.DeepCopyInto(&pod.ObjectMeta)
	pod.Labels, pod.Annotations = p.GetLabels(), map[string]string{kind.DigestAnnotation: p.digest}
	if p.status != nil {
		p.status.DeepCopyInto(&pod.Status)
	}
	return pod
}

// waiting counts the Ats of a cache that have not started, by the second when they are due.
type waiting struct {
	mu    sync.Mutex
	count map[int64]int
}

// countWaiting counts the Ats of a cache, and keeps the count current.
func countWaiting(ctx context.Context, ats cache.Informers) (*waiting, error) {
	informer, err := ats.GetInformer(ctx, &cnatv1alpha1.At{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	w := &waiting{count: map[int64]int{}}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.add(o, 1) },
		UpdateFunc: func(last, next any) { w.add(last, -1); w.add(next, 1) },
		DeleteFunc: func(o any) {
			if missed, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = missed.Obj
			}
			w.add(o, -1)
		},
	})
	return w, err
}

func (w *waiting) add(object any, n int) {
	at, ok := object.(*cnatv1alpha1.At)
	if !ok || hasStarted(at) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	second := dueSecond(at)
	if w.count[second] += n; w.count[second] == 0 {
		delete(w.count, second)
	}
}

// together returns the number of Ats that have not started and are due in the same second as at.
func (w *waiting) together(at *cnatv1alpha1.At) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count[dueSecond(at)]
}

func hasStarted(at *cnatv1alpha1.At) bool {
	return at.Status.Phase == cnatv1alpha1.AtRunning || at.Status.Phase == cnatv1alpha1.AtDone
}

// dueSecond returns the second when an At is due; the second of the zero time if its schedule is invalid.
func dueSecond(at *cnatv1alpha1.At) int64 {
	due, _ := kindat.Schedule(at.Spec)
	return due.Unix()
}
