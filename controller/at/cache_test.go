package at

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/dump"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/kind"
	kindat "example.com/gatehouse/kind/at"
)

// The cache holds thousands of Ats and Pods, and no field that decisions do not use.
func TestTrimmedObjectsKeepNoUnusedField(t *testing.T) {
	const unused = "unused"
	at := newAt(func(at *cnatv1alpha1.At) {
		at.Annotations = map[string]string{unused: unused}
		at.Labels = map[string]string{unused: unused, kind.ManagedByLabel: "Helm"}
		at.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: unused}}
		at.Spec.Command = unused
		at.Spec.Image = unused
		at.Spec.Env = []corev1.EnvVar{{Name: unused}}
		at.Status.Conditions = []metav1.Condition{{Type: unused}, {Type: Armed}}
	})
	pod := podFor(at, "a", open, func(pod *corev1.Pod) {
		pod.Status.PodIP = unused
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled}, {Type: unused}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: kindat.CommandContainer, Image: unused}, {Name: unused}}
	})
	for _, trimmed := range []any{trimAt(at), trimPod(&pod)} {
		if content := dump.Pretty(trimmed); strings.Contains(content, unused) {
			t.Errorf("the cache keeps an unused field: %s", content)
		}
	}
}

// A copy has the type and the fields of its original. A change of one does not change the other.
func TestTrimmedObjectsCopyDeeply(t *testing.T) {
	at := trimAt(newAt(withRun(cnatv1alpha1.AtDone, "a"), deadline(5)))
	full := podFor(newAt(), "a", ownedByJob)
	pod := trimPod(&full)
	before := dump.Pretty(at) + dump.Pretty(pod)

	copiedAt := at.DeepCopyObject().(*TrimmedAt)
	copiedPod := pod.DeepCopyObject().(*TrimmedPod)
	if copies := dump.Pretty(copiedAt) + dump.Pretty(copiedPod); copies != before {
		t.Errorf("the copies are\n%s\nwant\n%s", copies, before)
	}
	copiedAt.Status.Conditions[0].Reason = "Other"
	copiedAt.Status.Run.PodName = "other"
	copiedAt.digests[0] = "other"
	copiedPod.OwnerReferences[0].Name = "other"
	if after := dump.Pretty(at) + dump.Pretty(pod); after != before {
		t.Errorf("after a change of the copies the originals are\n%s\nwant\n%s", after, before)
	}
}
