package condition

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// The conditions of kstatus, with which `kubectl wait`, Flux and Argo CD read every
// status right: an object is exactly one of ready, reconciling or stalled, and says
// nothing of the others. See
// https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md.
const (
	// Ready is True when there is nothing to wait for.
	Ready = "Ready"
	// Reconciling is True while something is under way; otherwise it is absent.
	Reconciling = "Reconciling"
	// Stalled is True when a person has to act; otherwise it is absent.
	Stalled = "Stalled"
)

// Ready says that there is nothing to wait for.
func (c *Conditions) Ready(reason, message string) {
	c.Add(Ready, metav1.ConditionTrue, reason, message)
}

// Reconciling says that something is under way.
func (c *Conditions) Reconciling(reason, message string) {
	c.Add(Ready, metav1.ConditionFalse, reason, message)
	c.Add(Reconciling, metav1.ConditionTrue, reason, message)
}

// Stalled says that a person has to act.
func (c *Conditions) Stalled(reason, message string) {
	c.Add(Ready, metav1.ConditionFalse, reason, message)
	c.Add(Stalled, metav1.ConditionTrue, reason, message)
}

// Await says that conditionType waits for what somebody else brings: Unknown and
// reconciling for a grace period, then False and stalled, until it comes or the
// object changes. It returns when the grace period ends, or zero once it has.
//
// The period is measured from the lastTransitionTime of the condition, so it
// survives a restart.
func (c *Conditions) Await(conditionType, reason, message string, grace time.Duration) (ends time.Time) {
	since, expired := c.now, false
	if last := meta.FindStatusCondition(c.last, conditionType); last != nil {
		switch last.Status {
		case metav1.ConditionUnknown:
			since = last.LastTransitionTime.Time
		case metav1.ConditionFalse:
			expired = last.ObservedGeneration == c.generation && meta.IsStatusConditionTrue(c.last, Stalled)
		}
	}
	ends = since.Add(grace)
	if expired || !c.now.Before(ends) {
		c.Add(conditionType, metav1.ConditionFalse, reason, message)
		c.Stalled(reason, message)
		return time.Time{}
	}
	c.Add(conditionType, metav1.ConditionUnknown, reason, message)
	c.Reconciling(reason, message)
	return ends
}

// FindReady returns the condition Ready; an empty one where there is none.
func FindReady(conditions []metav1.Condition) metav1.Condition {
	return ptr.Deref(meta.FindStatusCondition(conditions, Ready), metav1.Condition{})
}
