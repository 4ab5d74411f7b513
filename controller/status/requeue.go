package status

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Earliest returns the earlier of two times that are not zero, zero where both are.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// RequeueAt has an object reconciled when the time is wake, although nothing changes;
// never, where wake is zero.
func RequeueAt(wake, now time.Time) reconcile.Result {
	if wake.IsZero() {
		return reconcile.Result{}
	}
	// A time that has passed is at once, and zero would be never.
	return reconcile.Result{RequeueAfter: max(wake.Sub(now), time.Nanosecond)}
}
