package at

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
)

// story is a history that a test tells step by step. One leader reconciles, and its caches do not lag.
type story struct {
	*testing.T
	cluster
	late []*request // writes that the controller gave up
}

func newStory(t *testing.T, c cluster) *story {
	return &story{T: t, cluster: c.withAt(simulatedAt(specs[0], due.Add(-time.Hour)))}
}

func (s *story) sync() { s.cluster = s.withNewPod(renderedPod(s.at.Spec, 0, due)) }

// serve makes the API server serve a request. A write that an invariant forbids fails the test.
func (s *story) serve(q *request) answer {
	next, a, err := s.cluster.serve(q)
	s.Logf("%s: %v", q, a.err)
	if err != nil {
		s.Fatal(err)
	}
	s.cluster = next
	return a
}

// reconcile runs the Reconciler and the Opener. Requests with the verb lost are late, and those with the verb
// refused are refused.
func (s *story) reconcile(now time.Time, lost, refused verb) {
	for _, opens := range []bool{false, true} {
		r := startRun(s.at, s.pods, &replica{elected: true, fresh: true}, opens)
		for r.request != nil {
			switch q := r.request; q.verb {
			case look:
				r.proceed(answer{surroundings: surroundings{now: now, together: 1}})
			case lost:
				s.late = append(s.late, q)
				s.Logf("%s: late", q)
				r.proceed(answer{err: errTimeout})
			case refused:
				s.Logf("%s: refused", q)
				s.cluster = s.withRefusal(q)
				r.proceed(answer{err: refusals[0]})
			default:
				r.proceed(s.serve(q))
			}
		}
		s.Logf("  -> %s", describeStatus(s.at.Status))
	}
}

// If admission refuses the hold at the deadline, the recorded start may still happen. So its spec
// does not run again.
func TestStartWithRefusedHoldIsRemembered(t *testing.T) {
	s := newStory(t, cluster{hasPolicy: true})
	s.cluster = s.withSpec(func(s *cnatv1alpha1.AtSpec) { s.StartingDeadlineSeconds = ptr.To[int64](2) })
	s.sync()
	s.reconcile(due, openGate, "")
	s.reconcile(due.Add(time.Minute), "", hold)
	s.serve(s.late[0])
	s.cluster = s.withoutPods(func(*corev1.Pod) bool { return true })
	s.cluster = s.withSpec(func(s *cnatv1alpha1.AtSpec) { s.Command = "b" })
	s.reconcile(due.Add(time.Minute), "", "")
	s.cluster = s.withSpec(func(s *cnatv1alpha1.AtSpec) { s.Command = "a"; s.StartingDeadlineSeconds = nil })
	s.sync()
	s.reconcile(due.Add(time.Minute), "", "")
	s.reconcile(due.Add(time.Minute), "", "")
}

// While admission refuses to hold the Pod whose start is recorded, another Pod of the spec runs or ends, and goes
// away. The recorded start no longer happens.
func TestStartBesideRefusedHoldIsRemembered(t *testing.T) {
	for name, phase := range map[string]corev1.PodPhase{
		"ran": corev1.PodSucceeded, "failed": corev1.PodFailed, "still ran": corev1.PodRunning,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, cluster{})
			s.sync()
			s.reconcile(due, openGate, "")
			other := renderedPod(s.at.Spec, 1, due)
			open(other)
			other.Status.Phase = phase
			s.cluster = s.withNewPod(other)
			s.reconcile(due.Add(time.Second), "", hold)
			s.cluster = s.withoutPods(func(pod *corev1.Pod) bool { return pod == other })
			for range 3 {
				s.reconcile(due.Add(time.Minute), "", "")
			}
			if s.at.Status.Phase != cnatv1alpha1.AtDone || !isGated(s.pods[0]) {
				t.Errorf("status %s, Pod gated: %t", describeStatus(s.at.Status), isGated(s.pods[0]))
			}
		})
	}
}
