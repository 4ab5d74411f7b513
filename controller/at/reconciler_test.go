package at

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
)

// A cache that does not have the armed Pod yet, as after a restart, does not make
// an At lose it.
func TestReconcileAsksForThePodThatTheCacheLacks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		defer w.stop()
		old := len(w.past) - 1
		w.sync(t)
		w.runFor(t, 0)
		w.elapsed += time.Minute

		c := w.controllers[0]
		w.show(c, len(w.past)-1, old)
		w.start(t, c)
		w.finish(t, c)
		w.runFor(t, 0)
		if status := w.now().at.Status; status.Phase != cnatv1alpha1.AtRunning {
			t.Fatalf("status is %+v", status)
		}
	})
}
