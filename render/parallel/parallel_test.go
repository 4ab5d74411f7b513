package parallel

import (
	"sync/atomic"
	"testing"
)

func TestForCallsEachOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		calls := make([]atomic.Int32, n)
		For(n, func(i int) { calls[i].Add(1) })
		for i := range calls {
			if got := calls[i].Load(); got != 1 {
				t.Errorf("of %d: %d is called %d times", n, i, got)
			}
		}
	}
}

func TestSomeCallsNoMoreAtATime(t *testing.T) {
	const most = 3
	var running, greatest atomic.Int32
	Some(most, 200, func(int) {
		now := running.Add(1)
		defer running.Add(-1)
		for {
			known := greatest.Load()
			if now <= known || greatest.CompareAndSwap(known, now) {
				return
			}
		}
	})
	if got := greatest.Load(); got > most || got < 1 {
		t.Errorf("%d calls at a time, want at most %d", got, most)
	}
}
