package at

import (
	"testing"

	"pgregory.net/rapid"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
)

// A cache that does not have the armed Pod yet, as after a restart, does not make
// an At lose it.
func TestReconcileAsksForThePodThatTheCacheLacks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newSimulation(t)
		old := len(w.past) - 1
		w.sync(t)
		w.reconcileUntilStable(t)
		w.clock.SetTime(w.dues[w.now().at.Status.Run.Digest])

		c := w.controllers[0]
		c.seesAt, c.seesPods = len(w.past)-1, old
		c.reconcile(t)
		w.reconcileUntilStable(t)
		if status := w.now().at.Status; status.Phase != cnatv1alpha1.AtRunning {
			t.Fatalf("status is %+v", status)
		}
	})
}
