package at

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
)

// After a restart the cache may lag behind the status, and lack the armed Pod. The run does not
// fail as PodLost.
func TestReconcileReadsArmedPodMissingFromCache(t *testing.T) {
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
		if status := w.present().at.Status; status.Phase != cnatv1alpha1.AtRunning {
			t.Fatalf("status %+v, want phase %s", status, cnatv1alpha1.AtRunning)
		}
	})
}
