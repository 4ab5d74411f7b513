// Package parallel runs loops on every processor.
package parallel

import (
	"cmp"
	"runtime"
	"sync"
	"sync/atomic"

	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/watchdog"
)

// For calls do for each i from 0 to n-1, several at a time, and waits for all calls. If some panic, it panics with the
// error of the first one.
func For(n int, do func(i int)) { Some(runtime.GOMAXPROCS(0), n, do) }

// Some is For with a number of calls at a time.
func Some(atATime, n int, do func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, n)
	call := func(i int) {
		defer fault.Catch(&errs[i])
		do(i)
	}
	for range min(n, atATime) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				call(i)
				watchdog.Progress()
			}
		})
	}
	group.Wait()
	if err := cmp.Or(errs...); err != nil {
		panic(err)
	}
}

// Ahead calls do in another goroutine. A panic is one of the caller of wait.
func Ahead(do func()) (wait func()) {
	wait = sync.OnceFunc(func() {
		defer fault.Raise()
		do()
	})
	go func() {
		defer fault.Catch(new(error))
		wait()
	}()
	return wait
}
