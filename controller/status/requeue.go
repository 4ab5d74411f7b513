package status

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Earliest returns the earlier of two times. It ignores a zero time.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Latest returns the later of two times.
func Latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// RequeueAt returns the result that reconciles an object again at wake; never if wake is zero.
func RequeueAt(wake, now time.Time) reconcile.Result {
	if wake.IsZero() {
		return reconcile.Result{}
	}
	// A past time means at once. Zero would mean never.
	return reconcile.Result{RequeueAfter: max(wake.Sub(now), time.Nanosecond)}
}
