package at

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/setup"
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
