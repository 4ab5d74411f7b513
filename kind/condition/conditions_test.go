package condition

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var now = time.Date(2026, 1, 31, 9, 0, 0, 7, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Truncate(time.Second).Add(-d)) }

// describe names conditions with their status.
func describe(conditions []metav1.Condition) string {
	var all []string
	for _, c := range conditions {
		all = append(all, fmt.Sprintf("%s=%s", c.Type, c.Status))
	}
	return strings.Join(all, " ")
}

func TestTransitionTimeStaysWhileStatusStays(t *testing.T) {
	for name, test := range map[string]struct {
		last []metav1.Condition
		want metav1.Time
	}{
		"no last condition":        {nil, ago(0)},
		"the same status":          {[]metav1.Condition{{Type: "A", Status: metav1.ConditionTrue, Reason: "Other", LastTransitionTime: ago(time.Hour)}}, ago(time.Hour)},
		"another status":           {[]metav1.Condition{{Type: "A", Status: metav1.ConditionFalse, LastTransitionTime: ago(time.Hour)}}, ago(0)},
		"the status of another":    {[]metav1.Condition{{Type: "B", Status: metav1.ConditionTrue, LastTransitionTime: ago(time.Hour)}}, ago(0)},
		"the same status, at once": {[]metav1.Condition{{Type: "A", Status: metav1.ConditionTrue, LastTransitionTime: ago(0)}}, ago(0)},
	} {
		c := New(test.last, 7, now)
		c.Add("A", metav1.ConditionTrue, "Reason", "message")
		want := metav1.Condition{Type: "A", Status: metav1.ConditionTrue, Reason: "Reason", Message: "message", ObservedGeneration: 7, LastTransitionTime: test.want}
		if got := c.Sorted(); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestObjectIsReadyReconcilingOrStalled(t *testing.T) {
	for want, add := range map[string]func(c *Conditions){
		"Ready=True":                   func(c *Conditions) { c.Ready("R", "m") },
		"Ready=False Reconciling=True": func(c *Conditions) { c.Reconciling("R", "m") },
		"Ready=False Stalled=True":     func(c *Conditions) { c.Stalled("R", "m") },
	} {
		c := New(nil, 1, now)
		add(c)
		got := c.Sorted()
		if describe(got) != want {
			t.Errorf("is %s, want %s", describe(got), want)
		}
		for _, one := range got {
			if !IsOfKstatus(one.Type) || one.Reason != "R" || one.Message != "m" {
				t.Errorf("%s: %+v", want, one)
			}
		}
	}
	if IsOfKstatus("Available") {
		t.Error("Available is a condition of kstatus")
	}
}

// A wait for another tool takes a grace period. Then a person has to act, until the wait ends or the object
// changes.
func TestAwaitStallsAfterGrace(t *testing.T) {
	const (
		waits  = "Ready=False Reconciling=True Synced=Unknown"
		stalls = "Ready=False Stalled=True Synced=False"
	)
	last := func(status metav1.ConditionStatus, age time.Duration, generation int64, others ...metav1.Condition) []metav1.Condition {
		since := metav1.NewTime(now.Add(-age))
		return append(others, metav1.Condition{Type: "Synced", Status: status, LastTransitionTime: since, ObservedGeneration: generation})
	}
	stalled := metav1.Condition{Type: Stalled, Status: metav1.ConditionTrue}
	for name, test := range map[string]struct {
		last []metav1.Condition
		want string
		ends time.Time
	}{
		"begins":                         {nil, waits, now.Add(time.Minute)},
		"begins after a sync":            {last(metav1.ConditionTrue, time.Hour, 7), waits, now.Add(time.Minute)},
		"begins beside another wait":     {[]metav1.Condition{{Type: "Other", Status: metav1.ConditionUnknown, LastTransitionTime: ago(time.Hour)}}, waits, now.Add(time.Minute)},
		"goes on":                        {last(metav1.ConditionUnknown, time.Minute-1, 7), waits, now.Add(1)},
		"is over":                        {last(metav1.ConditionUnknown, time.Minute, 7), stalls, time.Time{}},
		"is over, in spite of an edit":   {last(metav1.ConditionUnknown, time.Minute, 6), stalls, time.Time{}},
		"was over":                       {last(metav1.ConditionFalse, time.Second, 7, stalled), stalls, time.Time{}},
		"begins again after an edit":     {last(metav1.ConditionFalse, time.Hour, 6, stalled), waits, now.Add(time.Minute)},
		"begins after a False by others": {last(metav1.ConditionFalse, time.Hour, 7), waits, now.Add(time.Minute)},
	} {
		c := New(test.last, 7, now)
		ends := c.Await("Synced", "R", "m", time.Minute)
		if got := describe(c.Sorted()); got != test.want || !ends.Equal(test.ends) {
			t.Errorf("%s: %s until %s, want %s until %s", name, got, ends, test.want, test.ends)
		}
	}
}

func TestSortByTypeKeepsItsArgument(t *testing.T) {
	conditions := []metav1.Condition{{Type: "C"}, {Type: "A"}, {Type: "B"}}
	before := slices.Clone(conditions)
	if got := describe(SortByType(conditions)); got != "A= B= C=" {
		t.Errorf("sorted are %s", got)
	}
	if !slices.Equal(conditions, before) {
		t.Errorf("the argument is now %s", describe(conditions))
	}
}

func TestFindReadyOfNoConditionIsZero(t *testing.T) {
	ready := metav1.Condition{Type: Ready, Reason: "R"}
	if got := FindReady([]metav1.Condition{{Type: Stalled}, ready}); got != ready {
		t.Errorf("found %+v", got)
	}
	if got := FindReady([]metav1.Condition{{Type: Stalled}}); got != (metav1.Condition{}) {
		t.Errorf("found %+v", got)
	}
}
