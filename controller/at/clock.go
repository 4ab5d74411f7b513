package at

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"example.com/gatehouse/controller/setup"
)

// Timers count elapsed time. When the API server's clock gets ahead of that, they fire late: it was
// set, this machine slept, or the time is known better. So every second the two are compared.
const (
	clockCheck     = time.Second
	clockTolerance = 10 * time.Millisecond
)

// clockSteps returns a source that enqueues every At when the clock has got ahead of elapsed time.
func clockSteps(ats setup.Cached, server clock.PassiveClock) source.Source {
	start := time.Now()
	read := func() (time.Time, time.Duration) { return server.Now(), time.Since(start) }
	return allAts(ats, "Ats may open late: the clock was set", func(ctx context.Context, enqueue func()) {
		watchClock(ctx, clockCheck, read, enqueue)
	})
}

// election returns a source that enqueues every At once this replica is elected: as a standby it
// left all work to the leader.
func election(ats setup.Cached, elected <-chan struct{}) source.Source {
	return allAts(ats, "Statuses may be late: this replica was elected", func(ctx context.Context, enqueue func()) {
		select {
		case <-ctx.Done():
		case <-elected:
			enqueue()
		}
	})
}

// allAts returns a source that enqueues every At when wait calls enqueue. Wait runs until ctx is done.
// If Ats cannot be listed, the log has the consequence.
func allAts(ats setup.Cached, consequence string, wait func(ctx context.Context, enqueue func())) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		go wait(ctx, func() {
			all, err := ats.Sources(ctx)
			if err != nil {
				ctrl.LoggerFrom(ctx).Error(err, consequence)
			}
			for _, at := range all {
				queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(at)})
			}
		})
		return nil
	})
}

// watchClock calls stepped whenever a clock has got ahead of elapsed time. It returns when ctx is
// done.
func watchClock(ctx context.Context, every time.Duration, read func() (time.Time, time.Duration), stepped func()) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for lastTime, lastElapsed := read(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now, elapsed := read()
		if now.Sub(lastTime)-(elapsed-lastElapsed) > clockTolerance {
			stepped()
		}
		lastTime = now
		lastElapsed = elapsed
	}
}
