package observe

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
	"example.com/gatehouse/test/testkind"
)

func TestEqualStatusesNeedNoWrite(t *testing.T) {
	instant := metav1.NewTime(time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC))
	elsewhere := metav1.NewTime(instant.In(time.FixedZone("", 3600)))
	ready := metav1.Condition{Type: condition.Ready, Reason: "A", LastTransitionTime: instant}
	stalled := metav1.Condition{Type: condition.Stalled, LastTransitionTime: instant}
	of := func(conditions ...metav1.Condition) kind.Status { return kind.Status{Conditions: conditions} }
	other := ready
	other.Reason = "B"
	there := ready
	there.LastTransitionTime = elsewhere
	for name, test := range map[string]struct {
		last kind.Status
		next any
		same bool
	}{
		"empty":                {kind.Status{}, kind.Status{Conditions: []metav1.Condition{}}, true},
		"conditions reordered": {of(ready, stalled), of(stalled, ready), true},
		"one instant":          {of(ready), of(there), true},
		"a condition more":     {of(ready), of(ready, stalled), false},
		"another reason":       {of(ready), of(other), false},
		"another count":        {kind.Status{Objects: ptr.To[int32](1)}, kind.Status{Objects: ptr.To[int32](2)}, false},
		"null":                 {kind.Status{}, map[string]any{"names": nil}, true},
		"a field more":         {kind.Status{}, map[string]any{"objects": 1}, false},
	} {
		content, err := status.Content(test.next)
		if err != nil {
			t.Fatal(err)
		}
		after, err := withStatus(testkind.Kind, content)
		if err != nil {
			t.Fatal(err)
		}
		before := &testkind.Fleet{Status: testkind.FleetStatus{Status: test.last}}
		if got := status.Equal(statusOf(before), statusOf(after)); got != test.same {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestContentRefusesOtherThanObjects(t *testing.T) {
	for _, decided := range []any{nil, "text", []string{"a"}, func() {}, (*kind.Status)(nil)} {
		if c, err := status.Content(decided); err == nil {
			t.Errorf("%T is %v", decided, c)
		}
	}
}
