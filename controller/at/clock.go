package at

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
)

// Timers count elapsed time. When the wall clock is set forward, or a machine
// sleeps, they fire late, so every second the two are compared.
const (
	clockCheck     = time.Second
	clockTolerance = 10 * time.Millisecond
)

// clockSteps returns a source that enqueues every At when the wall clock has got ahead
// of elapsed time.
func clockSteps(ats client.Reader) source.Source {
	return allAts(ats, "Ats may open late: the clock was set", func(ctx context.Context, enqueue func()) {
		watchClock(ctx, clockCheck, newClockReader(), enqueue)
	})
}

// election returns a source that enqueues every At once this replica is elected: it has left to
// the leader before it whatever was to be done.
func election(ats client.Reader, elected <-chan struct{}) source.Source {
	return allAts(ats, "Statuses may be late: this replica was elected", func(ctx context.Context, enqueue func()) {
		select {
		case <-ctx.Done():
		case <-elected:
			enqueue()
		}
	})
}

// allAts returns a source that enqueues every At when wait, which runs until ctx is done, says
// so. Where they cannot be listed, the log has the consequence.
func allAts(ats client.Reader, consequence string, wait func(ctx context.Context, enqueue func())) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		go wait(ctx, func() {
			var list cnatv1alpha1.AtList
			if err := ats.List(ctx, &list); err != nil {
				ctrl.LoggerFrom(ctx).Error(err, consequence)
			}
			for i := range list.Items {
				queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
			}
		})
		return nil
	})
}

// newClockReader returns a function that reads both clocks at one moment.
func newClockReader() func() (wall time.Time, elapsed time.Duration) {
	start := time.Now()
	return func() (time.Time, time.Duration) {
		now := time.Now()
		return now.Round(0), now.Sub(start) // Round drops the elapsed time that now carries
	}
}

// watchClock calls stepped whenever the wall clock has got ahead of elapsed time.
// It returns when ctx is done.
func watchClock(ctx context.Context, every time.Duration, read func() (time.Time, time.Duration), stepped func()) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for lastWall, lastElapsed := read(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		wall, elapsed := read()
		if wall.Sub(lastWall)-(elapsed-lastElapsed) > clockTolerance {
			stepped()
		}
		lastWall, lastElapsed = wall, elapsed
	}
}
