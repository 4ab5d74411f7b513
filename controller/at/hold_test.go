package at

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
)

// If admission refuses the hold at the deadline, the recorded start may still happen. So its spec
// does not run again.
func TestStartWithRefusedHoldIsRemembered(t *testing.T) {
	c := cluster{hasPolicy: true}.withAt(simulatedAt(specs[0], due.Add(-time.Hour)))
	c = c.withSpec(func(s *cnatv1alpha1.AtSpec) { s.StartingDeadlineSeconds = ptr.To[int64](2) })
	sync := func() { c = c.withNewPod(renderedPod(c.at.Spec, 0, due)) }
	var late []*request
	serve := func(q *request) answer {
		n, a, err := c.serve(q)
		t.Logf("%s: %v", q, a.err)
		if err != nil {
			t.Fatal(err)
		}
		c = n
		return a
	}
	reconcileOne := func(now time.Time, lose, refuse verb, opens bool) {
		r := startRun(c.at, c.pods, &replica{elected: true, fresh: true}, opens)
		for r.request != nil {
			switch q := r.request; q.verb {
			case look:
				r.proceed(answer{surroundings: surroundings{now: now, together: 1}})
			case lose:
				late = append(late, q)
				t.Logf("%s: late", q)
				r.proceed(answer{err: errTimeout})
			case refuse:
				t.Logf("%s: refused", q)
				c = c.withRefusal(q)
				r.proceed(answer{err: refusals[0]})
			default:
				r.proceed(serve(q))
			}
		}
		t.Logf("  -> %s", describeStatus(c.at.Status))
	}
	reconcile := func(now time.Time, lose, refuse verb) {
		reconcileOne(now, lose, refuse, false)
		reconcileOne(now, lose, refuse, true)
	}
	sync()
	reconcile(due, openGate, "")
	reconcile(due.Add(time.Minute), "", hold)
	serve(late[0])
	c = c.withoutPods(func(*corev1.Pod) bool { return true })
	c = c.withSpec(func(s *cnatv1alpha1.AtSpec) { s.Command = "b" })
	reconcile(due.Add(time.Minute), "", "")
	c = c.withSpec(func(s *cnatv1alpha1.AtSpec) { s.Command = "a"; s.StartingDeadlineSeconds = nil })
	sync()
	reconcile(due.Add(time.Minute), "", "")
	reconcile(due.Add(time.Minute), "", "")
}
