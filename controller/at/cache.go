package at

import (
	"context"
	"slices"
	"sync"
	"time"

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

// TrimmedAt has the fields of an At that decisions use. The cache keeps it in place of the At.
type TrimmedAt struct {
	metav1.TypeMeta
	metav1.ObjectMeta // what setup.Identity keeps, and the label with the manager
	// Status has only the conditions that Gatehouse owns.
	Status cnatv1alpha1.AtStatus

	due     time.Time // zero if the schedule is invalid
	invalid error     // the error of the schedule

	suspend                 bool
	startingDeadlineSeconds *int64

	// digests are the digests that a run or a Pod of the spec may have: first this version's, then an
	// earlier one's if that is another.
	digests []string
	// isRanForeign reports whether another client wrote the list status.ran.
	isRanForeign bool
}

func trimAt(at *cnatv1alpha1.At) *TrimmedAt {
	trimmed := &TrimmedAt{
		TypeMeta:                typeOfAt,
		ObjectMeta:              setup.Identity(at),
		Status:                  at.Status,
		suspend:                 at.Spec.Suspend,
		startingDeadlineSeconds: at.Spec.StartingDeadlineSeconds,
		digests:                 slices.Compact(kindat.Digests(at.Spec)),
		isRanForeign:            status.IsForeign(at.ManagedFields, "ran"),
	}
	trimmed.due, trimmed.invalid = kindat.Schedule(at.Spec)
	if manager, ok := at.Labels[kind.ManagedByLabel]; ok {
		trimmed.Labels = map[string]string{kind.ManagedByLabel: manager}
	}
	trimmed.Status.Conditions = slices.DeleteFunc(trimmed.Status.Conditions, func(c metav1.Condition) bool {
		return !slices.Contains(conditionTypes, c.Type)
	})
	return trimmed
}

// typeOfAt names the type of a TrimmedAt in events.
var typeOfAt = metav1.TypeMeta{APIVersion: cnatv1alpha1.SchemeGroupVersion.String(), Kind: cnatv1alpha1.KindAt}

// DeepCopyObject implements runtime.Object.
func (a *TrimmedAt) DeepCopyObject() runtime.Object {
	copied := *a
	a.DeepCopyInto(&copied.ObjectMeta)
	a.Status.DeepCopyInto(&copied.Status)
	copied.digests = slices.Clone(a.digests)
	return &copied
}

// TrimmedPod has the fields of a Pod that decisions use. The cache keeps it in place of the Pod.
type TrimmedPod struct {
	metav1.ObjectMeta // what setup.Identity keeps, the owners and generateName

	at     string // the label with the name of the At
	digest string // the annotation with the digest
	gates  []corev1.PodSchedulingGate
	status *podStatus
}

// podStatus has the fields of a Pod's status that decisions use. They are empty while the Pod is gated.
type podStatus struct {
	phase     corev1.PodPhase
	reason    string
	message   string
	scheduled corev1.PodCondition
	command   corev1.ContainerState
}

// gatedStatus is the status of every gated Pod. They share it, to save memory.
var gatedStatus = &podStatus{}

func trimPod(pod *corev1.Pod) *TrimmedPod {
	trimmed := &TrimmedPod{
		ObjectMeta: setup.Identity(pod),
		at:         pod.Labels[kindat.Label],
		digest:     pod.Annotations[kind.DigestAnnotation],
		gates:      pod.Spec.SchedulingGates,
		status:     gatedStatus,
	}
	trimmed.GenerateName = pod.GenerateName
	trimmed.OwnerReferences = pod.OwnerReferences
	if !trimmed.isGated() {
		trimmed.status = trimPodStatus(&pod.Status)
	}
	return trimmed
}

func trimPodStatus(full *corev1.PodStatus) *podStatus {
	trimmed := &podStatus{phase: full.Phase, reason: full.Reason, message: full.Message}
	for _, c := range full.Conditions {
		if c.Type == corev1.PodScheduled {
			trimmed.scheduled = c
		}
	}
	for _, c := range full.ContainerStatuses {
		if c.Name == kindat.CommandContainer {
			trimmed.command = c.State
		}
	}
	return trimmed
}

// GetLabels implements metav1.Object. Cached Pods have no map for their one label, to save memory.
func (p *TrimmedPod) GetLabels() map[string]string { return map[string]string{kindat.Label: p.at} }

// GetObjectKind implements runtime.Object.
func (p *TrimmedPod) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. Copies share gates and status, which never change.
func (p *TrimmedPod) DeepCopyObject() runtime.Object {
	copied := *p
	p.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// isGated reports whether the Pod has the controller's gate.
func (p *TrimmedPod) isGated() bool {
	return slices.ContainsFunc(p.gates, func(gate corev1.PodSchedulingGate) bool { return gate.Name == kindat.Gate })
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
	at, ok := object.(*TrimmedAt)
	if !ok || hasStarted(at) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	second := at.due.Unix()
	if w.count[second] += n; w.count[second] == 0 {
		delete(w.count, second)
	}
}

// together returns the number of Ats that have not started and are due in the same second as at.
func (w *waiting) together(at *TrimmedAt) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count[at.due.Unix()]
}

func hasStarted(at *TrimmedAt) bool {
	return at.Status.Phase == cnatv1alpha1.AtRunning || at.Status.Phase == cnatv1alpha1.AtDone
}
