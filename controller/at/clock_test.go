package at

import (
	"context"
	"testing"
	"time"
)

func TestWatchClockReportsStepsForward(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	steps := []time.Duration{0, 0, time.Hour, 0, -time.Hour, clockTolerance, clockTolerance + 1}
	wall := due
	elapsed := time.Duration(0)
	stepped := []int{}
	read := func() (time.Time, time.Duration) {
		if len(steps) == 0 {
			cancel()
			return wall, elapsed
		}
		wall = wall.Add(time.Second + steps[0])
		elapsed += time.Second
		steps = steps[1:]
		return wall, elapsed
	}
	watchClock(ctx, time.Microsecond, read, func() { stepped = append(stepped, len(steps)) })
	if len(stepped) != 2 || stepped[0] != 4 || stepped[1] != 0 {
		t.Errorf("reported steps with %v readings left, want 4 and 0: only the two steps forward", stepped)
	}
}
