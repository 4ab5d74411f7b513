// Package condition builds the conditions of a status so that kstatus, and with
// it `kubectl wait`, Flux and Argo CD, reads every status right: an object is
// exactly one of ready, reconciling or stalled, and says nothing of the others.
package condition

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// The conditions of kstatus:
// https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md
const (
	// Ready is True when there is nothing to wait for.
	Ready = "Ready"
	// Reconciling is True while something is under way; otherwise it is absent.
	Reconciling = "Reconciling"
	// Stalled is True when a person has to act; otherwise it is absent.
	Stalled = "Stalled"
)

// Set is the conditions of an object's next status, built from those of its last.
type Set struct {
	last       []metav1.Condition
	generation int64
	now        time.Time
	next       []metav1.Condition
}

// NewSet starts a Set for an object of a generation, from its last conditions.
func NewSet(last []metav1.Condition, generation int64, now time.Time) *Set {
	return &Set{last: last, generation: generation, now: now}
}

// Add adds a condition. Its lastTransitionTime is that of the last status as long
// as its status stays.
func (s *Set) Add(conditionType string, status metav1.ConditionStatus, reason, message string) {
	condition := metav1.Condition{
		Type:               conditionType,
		Status:             status,
		ObservedGeneration: s.generation,
		// What comes back from the API server has whole seconds.
		LastTransitionTime: metav1.NewTime(s.now.Truncate(time.Second)),
		Reason:             reason,
		Message:            message,
	}
	if last := meta.FindStatusCondition(s.last, conditionType); last != nil && last.Status == status {
		condition.LastTransitionTime = last.LastTransitionTime
	}
	s.next = append(s.next, condition)
}

// Ready says that there is nothing to wait for.
func (s *Set) Ready(reason, message string) {
	s.Add(Ready, metav1.ConditionTrue, reason, message)
}

// Reconciling says that something is under way.
func (s *Set) Reconciling(reason, message string) {
	s.Add(Ready, metav1.ConditionFalse, reason, message)
	s.Add(Reconciling, metav1.ConditionTrue, reason, message)
}

// Stalled says that a person has to act.
func (s *Set) Stalled(reason, message string) {
	s.Add(Ready, metav1.ConditionFalse, reason, message)
	s.Add(Stalled, metav1.ConditionTrue, reason, message)
}

// Await says that conditionType waits for what somebody else brings: Unknown and
// reconciling for a grace period, then False and stalled, until it comes or the
// object changes. It returns when the grace period ends, or zero once it has.
//
// The period is measured from the lastTransitionTime of the condition, so it
// survives a restart.
func (s *Set) Await(conditionType, reason, message string, grace time.Duration) (ends time.Time) {
	since, expired := s.now, false
	if last := meta.FindStatusCondition(s.last, conditionType); last != nil {
		switch last.Status {
		case metav1.ConditionUnknown:
			since = last.LastTransitionTime.Time
		case metav1.ConditionFalse:
			expired = last.ObservedGeneration == s.generation && meta.IsStatusConditionTrue(s.last, Stalled)
		}
	}
	ends = since.Add(grace)
	if expired || !s.now.Before(ends) {
		s.Add(conditionType, metav1.ConditionFalse, reason, message)
		s.Stalled(reason, message)
		return time.Time{}
	}
	s.Add(conditionType, metav1.ConditionUnknown, reason, message)
	s.Reconciling(reason, message)
	return ends
}

// Conditions returns what was added, sorted by type.
func (s *Set) Conditions() []metav1.Condition {
	return sorted(s.next)
}

// Equal says whether two lists hold the same conditions, in whatever order.
func Equal(a, b []metav1.Condition) bool {
	return equality.Semantic.DeepEqual(sorted(a), sorted(b))
}

func sorted(conditions []metav1.Condition) []metav1.Condition {
	return slices.SortedFunc(slices.Values(conditions), func(a, b metav1.Condition) int {
		return cmp.Compare(a.Type, b.Type)
	})
}

// Configurations are the conditions as server-side apply takes them.
func Configurations(conditions []metav1.Condition) []*metav1ac.ConditionApplyConfiguration {
	configurations := make([]*metav1ac.ConditionApplyConfiguration, len(conditions))
	for i, c := range conditions {
		configurations[i] = metav1ac.Condition().
			WithType(c.Type).
			WithStatus(c.Status).
			WithObservedGeneration(c.ObservedGeneration).
			WithLastTransitionTime(c.LastTransitionTime).
			WithReason(c.Reason).
			WithMessage(c.Message)
	}
	return configurations
}
