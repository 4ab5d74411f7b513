// Package condition builds the conditions of a status for kstatus.
package condition

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Conditions are the conditions of the next status of an object, based on its last conditions.
type Conditions struct {
	last       []metav1.Condition
	generation int64
	now        time.Time
	next       []metav1.Condition
}

// New returns the Conditions of an object without any condition yet.
func New(last []metav1.Condition, generation int64, now time.Time) *Conditions {
	return &Conditions{last: last, generation: generation, now: now}
}

// Add adds a condition. It keeps its lastTransitionTime while its status stays the same.
func (c *Conditions) Add(conditionType string, status metav1.ConditionStatus, reason, message string) {
	condition := metav1.Condition{
		Type:               conditionType,
		Status:             status,
		ObservedGeneration: c.generation,
		// The API server stores whole seconds.
		LastTransitionTime: metav1.NewTime(c.now.Truncate(time.Second)),
		Reason:             reason,
		Message:            message,
	}
	if last := meta.FindStatusCondition(c.last, conditionType); last != nil && last.Status == status {
		condition.LastTransitionTime = last.LastTransitionTime
	}
	c.next = append(c.next, condition)
}

// Sorted returns the added conditions, sorted by type.
func (c *Conditions) Sorted() []metav1.Condition { return SortByType(c.next) }

// SortByType returns conditions sorted by type.
func SortByType(conditions []metav1.Condition) []metav1.Condition {
	return slices.SortedFunc(slices.Values(conditions), func(a, b metav1.Condition) int {
		return cmp.Compare(a.Type, b.Type)
	})
}

// The conditions of kstatus. `kubectl wait`, Flux and Argo CD understand them. An object is exactly one
// of ready, reconciling or stalled. See
// https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md.
const (
	// Ready is True if there is nothing to wait for.
	Ready = "Ready"
	// Reconciling is True while a change is under way; otherwise it is absent.
	Reconciling = "Reconciling"
	// Stalled is True if a person has to act; otherwise it is absent.
	Stalled = "Stalled"
)

// IsOfKstatus reports whether a condition type is one of kstatus.
func IsOfKstatus(conditionType string) bool {
	return conditionType == Ready || conditionType == Reconciling || conditionType == Stalled
}

// Ready makes the object ready: there is nothing to wait for.
func (c *Conditions) Ready(reason, message string) {
	c.Add(Ready, metav1.ConditionTrue, reason, message)
}

// Reconciling makes the object reconciling: a change is under way.
func (c *Conditions) Reconciling(reason, message string) {
	c.Add(Ready, metav1.ConditionFalse, reason, message)
	c.Add(Reconciling, metav1.ConditionTrue, reason, message)
}

// Stalled makes the object stalled: a person has to act.
func (c *Conditions) Stalled(reason, message string) {
	c.Add(Ready, metav1.ConditionFalse, reason, message)
	c.Add(Stalled, metav1.ConditionTrue, reason, message)
}

// Await adds a condition that waits for another tool, such as a sync. It is Unknown and the object
// reconciling for a grace period. Then it is False and the object stalled, until the wait ends or the
// object changes. Await returns the end of the grace period, or zero after it.
//
// The period starts at the lastTransitionTime of the condition, so it survives a restart.
func (c *Conditions) Await(conditionType, reason, message string, grace time.Duration) (ends time.Time) {
	since := c.now
	expired := false
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

// FindReady returns the condition Ready, or the zero Condition.
func FindReady(conditions []metav1.Condition) metav1.Condition {
	return ptr.Deref(meta.FindStatusCondition(conditions, Ready), metav1.Condition{})
}
