// Package parallel runs loops on every processor.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// For calls do for each i from 0 to n-1, several at a time, and waits for all calls.
func For(n int, do func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	group.Wait()
}
