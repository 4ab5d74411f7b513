package parallel

import (
	"strings"
	"sync/atomic"
	"testing"

	"example.com/gatehouse/render/fault"
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

// A panic of a call ends no other call, and the process only if nobody recovers.
func TestForPanicsInTheGoroutineOfItsCaller(t *testing.T) {
	var calls atomic.Int32
	var err error
	func() {
		defer fault.Catch(&err)
		For(100, func(i int) {
			calls.Add(1)
			if i%10 == 7 {
				panicAt(i)
			}
		})
	}()
	if calls.Load() != 100 || err == nil || !strings.HasPrefix(err.Error(), "example.com/gatehouse/render/parallel.panicAt panics") {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
}

func panicAt(i int) { panic(i) }

func TestAheadPanicsWhereItsResultIsWanted(t *testing.T) {
	done := false
	wait := Ahead(func() { done = true })
	if wait(); !done {
		t.Error("does not wait")
	}
	wait = Ahead(func() { panicAt(1) })
	for range 2 {
		var err error
		func() {
			defer fault.Catch(&err)
			wait()
		}()
		if err == nil || !strings.HasPrefix(err.Error(), "example.com/gatehouse/render/parallel.panicAt panics") {
			t.Error(err)
		}
	}
}
