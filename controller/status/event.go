package status

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"example.com/gatehouse/kind/condition"
)

// RecordReady records the condition Ready of an object as an event, as a warning if the object is
// stalled.
func RecordReady(recorder events.EventRecorder, object runtime.Object, conditions []metav1.Condition) {
	eventType := corev1.EventTypeNormal
	if meta.IsStatusConditionTrue(conditions, condition.Stalled) {
		eventType = corev1.EventTypeWarning
	}
	ready := condition.FindReady(conditions)
	recorder.Eventf(object, nil, eventType, ready.Reason, "Report", "%s", ready.Message)
}
