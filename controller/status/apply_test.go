package status

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/gatehouse/kind/condition"
)

func TestEqualIgnoresOrderOfConditions(t *testing.T) {
	type status struct {
		Conditions []metav1.Condition
		Names      []string
		Ends       *metav1.Time
	}
	now := metav1.Now()
	elsewhere := metav1.NewTime(now.In(time.FixedZone("", 3600)))
	ready := metav1.Condition{Type: condition.Ready, Reason: "A"}
	stalled := metav1.Condition{Type: condition.Stalled}
	for name, test := range map[string]struct {
		a, b  status
		equal bool
	}{
		"empty":                {status{}, status{Conditions: []metav1.Condition{}, Names: []string{}}, true},
		"conditions reordered": {status{Conditions: []metav1.Condition{ready, stalled}}, status{Conditions: []metav1.Condition{stalled, ready}}, true},
		"one instant":          {status{Ends: &now}, status{Ends: &elsewhere}, true},
		"a condition more":     {status{Conditions: []metav1.Condition{ready}}, status{Conditions: []metav1.Condition{ready, stalled}}, false},
		"another reason":       {status{Conditions: []metav1.Condition{ready}}, status{Conditions: []metav1.Condition{{Type: condition.Ready, Reason: "B"}}}, false},
		"another order":        {status{Names: []string{"a", "b"}}, status{Names: []string{"b", "a"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Equal(test.a, test.b); got != test.equal {
				t.Errorf("%t, want %t", got, test.equal)
			}
		})
	}
}
