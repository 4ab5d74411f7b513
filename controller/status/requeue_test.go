package status

import (
	"testing"
	"time"
)

func TestRequeueAtPastTimeIsImmediate(t *testing.T) {
	now := time.Now()
	for wake, want := range map[time.Time]time.Duration{
		{}:                    0,
		now.Add(time.Hour):    time.Hour,
		now:                   time.Nanosecond,
		now.Add(-time.Minute): time.Nanosecond,
	} {
		if got := RequeueAt(wake, now).RequeueAfter; got != want {
			t.Errorf("%s: %s, want %s", wake, got, want)
		}
	}
}
