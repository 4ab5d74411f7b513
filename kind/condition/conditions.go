// Package condition builds the conditions of a status, as kstatus reads them.
package condition

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions are those of an object's next status, built from those of its last.
type Conditions struct {
	last       []metav1.Condition
	generation int64
	now        time.Time
	next       []metav1.Condition
}

// New starts the Conditions of an object of a generation, from its last
// conditions.
func New(last []metav1.Condition, generation int64, now time.Time) *Conditions {
	return &Conditions{last: last, generation: generation, now: now}
}

// Add adds a condition. Its lastTransitionTime is that of the last status as long
// as its status stays.
func (c *Conditions) Add(conditionType string, status metav1.ConditionStatus, reason, message string) {
	condition := metav1.Condition{
		Type:               conditionType,
		Status:             status,
		ObservedGeneration: c.generation,
		// What comes back from the API server has whole seconds.
		LastTransitionTime: metav1.NewTime(c.now.Truncate(time.Second)),
		Reason:             reason,
		Message:            message,
	}
	if last := meta.FindStatusCondition(c.last, conditionType); last != nil && last.Status == status {
		condition.LastTransitionTime = last.LastTransitionTime
	}
	c.next = append(c.next, condition)
}

// Sorted returns what was added, sorted by type.
func (c *Conditions) Sorted() []metav1.Condition {
	return SortByType(c.next)
}

// SortByType returns conditions sorted by type.
func SortByType(conditions []metav1.Condition) []metav1.Condition {
	return slices.SortedFunc(slices.Values(conditions), func(a, b metav1.Condition) int {
		return cmp.Compare(a.Type, b.Type)
	})
}
