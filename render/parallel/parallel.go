// Package parallel runs loops on every processor.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"

	"example.com/gatehouse/render/watchdog"
)

// For calls do for each i from 0 to n-1, several at a time, and waits for all calls.
func For(n int, do func(i int)) { Some(runtime.GOMAXPROCS(0), n, do) }

// Some is For with a number of calls at a time.
func Some(atATime, n int, do func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, atATime) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
				watchdog.Progress()
			}
		})
	}
	group.Wait()
}
