// Package condition builds the conditions of a status for kstatus.
package condition

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
