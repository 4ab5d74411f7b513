// Package at runs Ats. A Reconciler keeps their status and records their starts; an Opener opens the
// gates of their Pods when they are due.
package at

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
)

const (
	// duePriority is the priority of an At that is due. Starts go before reports.
	duePriority = 100

	// standbyDelay is how late a leader is when a standby does its work: the leader died, or a
	// stranger holds the lease. Recorded starts make that safe.
	standbyDelay = 3 * time.Second

	// lookAgain is how soon to look again without an event.
	lookAgain = 10 * time.Second
)

// Reconciler keeps the status of Ats: it arms their Pods, records their starts, and reports.
type Reconciler struct {
	Server *Server
	// Clock is the API server's: a machine may have any time.
	Clock clock.PassiveClock
	// Grace is how long a Pod may be missing before an At is stalled: one sync creates the two
	// seconds apart.
	Grace  time.Duration
	Events events.EventRecorder

	// IsElected reports whether this replica is the leader; IsFresh, whether its lease has not run
	// out since it was last renewed.
	IsElected, IsFresh func() bool
}

// Reconcile takes the next step in the life of an At, all but the opening of its gate.
func (r *Reconciler) Reconcile(ctx context.Context, at *TrimmedAt) (reconcile.Result, error) {
	if at.DeletionTimestamp != nil { // a deleted At starts nothing
		return reconcile.Result{}, nil
	}
	m, decision, unseen, err := r.decide(ctx, at)
	if err == nil && decision.Hold != nil {
		err = r.hold(ctx, at, m, &decision)
	}
	if err == nil {
		if wait, waits := r.waits(decision, m.now); waits {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
		err = r.record(ctx, at, m, decision)
	}
	switch {
	case status.IsOutdated(err):
		// As a rule the event of the newer object is on its way.
		return reconcile.Result{RequeueAfter: lookAgain}, nil
	case err != nil:
		return reconcile.Result{}, err
	}
	if unseen && decision.Status.Phase != cnatv1alpha1.AtDone {
		decision.Wake = status.Earliest(decision.Wake, m.now.Add(lookAgain))
	}
	return r.requeue(decision.Wake, decision.Due.Add(-m.lead)), nil
}

// decide decides on an At and its Pods. Unseen reports that not all of their events arrive.
func (r *Reconciler) decide(ctx context.Context, at *TrimmedAt) (m moment, decision Decision, unseen bool,
	err error) {
	pods, unseen, err := r.readPods(ctx, at)
	m = moment{grace: r.Grace, lead: r.lead(at), now: r.Clock.Now()}
	if err != nil {
		return m, decision, unseen, err
	}
	return m, decide(at, pods, m), unseen, nil
}

// lead returns how early the start is recorded, so that one write remains at the due instant. Many
// Ats of one instant take longer to record.
func (r *Reconciler) lead(at *TrimmedAt) time.Duration {
	const (
		each = 10 * time.Millisecond
		most = 10 * time.Second
	)
	if hasStarted(at) {
		return 0
	}
	return min(time.Duration(r.Server.together(at))*each, most)
}

// waits reports whether this replica leaves a decision to another one, and how long until it looks
// again; zero for never. A leader whose lease may have run out starts nothing. A standby does the
// work of a late leader: it starts Ats, and reports on started ones.
func (r *Reconciler) waits(decision Decision, now time.Time) (time.Duration, bool) {
	starts := decision.Claim || decision.Open != nil
	run := decision.Status.Run
	if r.IsElected() {
		return time.Second, starts && !r.IsFresh()
	}
	isReport := !starts && run != nil && isClaimed(*run)
	since := decision.Due
	if isReport {
		since = status.Latest(run.OpenedTime.Time, ptr.Deref(run.FinishedTime, metav1.Time{}).Time)
	}
	late := since.Add(standbyDelay).Sub(now)
	switch {
	case late <= 0 && (starts || isReport):
		return 0, false
	case decision.Status.Phase == cnatv1alpha1.AtDone && !isReport:
		return 0, true
	case late <= 0:
		return lookAgain, true
	default:
		return late, true
	}
}

// readPods reads the Pods of an At from the cache. The cache may lag behind the status, for one after
// a restart. So the API server is asked whether the armed Pod is really gone, or goes on after its end: an end
// cannot be taken back. Unseen reports that events of a Pod may not arrive.
func (r *Reconciler) readPods(ctx context.Context, at *TrimmedAt) (pods []*TrimmedPod, unseen bool, err error) {
	key := client.ObjectKeyFromObject(at)
	run := at.Status.Run
	pods, err = r.Server.Pods(ctx, key)
	if err != nil {
		return nil, false, fmt.Errorf("list Pods of At %s: %w", key, err)
	}
	isArmed := run != nil && run.PodUID != ""
	if isArmed && agree(at, pods) {
		return pods, false, nil
	}
	if isArmed {
		pods = slices.DeleteFunc(pods, func(pod *TrimmedPod) bool { return pod.UID == run.PodUID })
		pod, err := r.Server.Pod(ctx, client.ObjectKey{Namespace: at.Namespace, Name: run.PodName})
		switch {
		case err == nil && isRendered(pod, at): // a status may name any Pod
			pods = withPods(pods, pod)
			unseen = true
		case client.IgnoreNotFound(err) != nil:
			return nil, false, fmt.Errorf("read Pod %s of At %s: %w", run.PodName, key, err)
		}
	}
	if !hasOtherManager(at) || isArmed && hasPod(pods, run.PodUID) || !isArmed && len(pods) > 0 {
		return pods, unseen, nil
	}
	others, err := r.Server.UnseenPods(ctx, at)
	if err != nil {
		return nil, false, fmt.Errorf("list Pods of At %s that are not watched: %w", key, err)
	}
	return withPods(pods, others...), true, nil
}

func hasPod(pods []*TrimmedPod, uid types.UID) bool {
	return slices.ContainsFunc(pods, func(pod *TrimmedPod) bool { return pod.UID == uid })
}

// withPods adds other Pods to the Pods of the cache, each once.
func withPods(pods []*TrimmedPod, others ...*TrimmedPod) []*TrimmedPod {
	all := slices.Clone(pods)
	for _, other := range others {
		if !hasPod(all, other.UID) {
			all = append(all, other)
		}
	}
	return all
}

// agree reports whether the status of an armed At and the Pods of the cache agree about the armed Pod.
func agree(at *TrimmedAt, pods []*TrimmedPod) bool {
	run := at.Status.Run
	i := slices.IndexFunc(pods, func(pod *TrimmedPod) bool { return pod.UID == run.PodUID })
	if i < 0 {
		return run.FinishedTime != nil && newSnapshot(at, nil, moment{}).explainsEnd()
	}
	return run.FinishedTime == nil || !isUnfinished(pods[i])
}

// hasOtherManager reports whether an At's own label names its manager. Earlier versions gave the Pod the
// same label, and the watch for Pods that Gatehouse manages does not see it.
// Such a Pod may wait for its time for long: as a rule nothing applies it again.
func hasOtherManager(at *TrimmedAt) bool {
	manager, ok := at.Labels[kind.ManagedByLabel]
	return ok && manager != kind.ManagedBy
}

// hold holds a Pod before any other work for its At. Every replica holds: the leader may be waiting for
// the answer to the very request that may still open the Pod.
func (r *Reconciler) hold(ctx context.Context, at *TrimmedAt, m moment, decision *Decision) error {
	pod := decision.Hold
	err := r.Server.Hold(ctx, at, pod)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("hold Pod %s: %w", client.ObjectKeyFromObject(pod), err)
	if !r.isRefused(ctx, pod, err) {
		return err
	}
	s := newSnapshot(at, nil, m)
	s.ran = decision.Status.Ran
	s.forgotten = decision.Status.ForgottenTime
	if run := decision.Status.Run; run != nil && !decision.Claim && isClaimed(*run) && run.PodUID != pod.UID {
		// The status keeps the start of the held Pod, and has no other place for the one that started.
		s.remember(run.Digest, ptr.Deref(run.ScheduledTime, metav1.NewTime(m.now)).Time)
	}
	if decision.Status.Phase != cnatv1alpha1.AtDone {
		return r.reportRefusal(ctx, s, pod.Name, err)
	}
	// After its deadline an At does not wait for the API server's consent. The recorded start stays: an
	// in-flight request may yet succeed.
	decision.Status.Run = at.Status.Run
	decision.Status.Ran = s.ran
	decision.Status.ForgottenTime = s.forgotten
	return nil
}

// record writes the status of a decision, unless the At has it.
func (r *Reconciler) record(ctx context.Context, at *TrimmedAt, m moment, decision Decision) error {
	if status.Equal(at.Status, decision.Status) {
		return nil
	}
	recorded, err := r.apply(ctx, at, decision.Status)
	if err != nil || !decision.Claim || hasRecord(recorded.Status, decision.Status) {
		return err
	}
	podName := decision.Status.Run.PodName
	return r.reportRefusal(ctx, newSnapshot(recorded, nil, m), podName,
		fmt.Errorf("record the start of Pod %s: %w", podName, errIgnored))
}

// hasRecord reports whether a stored status has the start that was to be recorded.
func hasRecord(stored, claim cnatv1alpha1.AtStatus) bool {
	return stored.Run != nil && isClaimed(*stored.Run) && stored.Run.PodUID == claim.Run.PodUID &&
		stored.Run.Digest == claim.Run.Digest
}

// apply writes the status of an At, and returns the At that the API server stored.
func (r *Reconciler) apply(ctx context.Context, at *TrimmedAt, next cnatv1alpha1.AtStatus) (*TrimmedAt, error) {
	recorded, err := r.Server.Apply(ctx, at, next)
	if err != nil {
		return nil, fmt.Errorf("apply status of At %s: %w", client.ObjectKeyFromObject(at), err)
	}
	r.report(ctx, at, next)
	return recorded, nil
}

// reportRefusal reports in the status of an At that the API server refuses a write, and returns the
// error that makes the controller try again.
func (r *Reconciler) reportRefusal(ctx context.Context, s *snapshot, podName string, refusal error) error {
	refusal = errors.New(refusal.Error()) // it is no conflict of versions, even with that code
	next := s.reportRefusal(podName, refusal)
	if status.Equal(s.at.Status, next) {
		return refusal
	}
	_, err := r.apply(ctx, s.at, next)
	return errors.Join(refusal, err)
}

// isRefused reports whether the API server refused a write of a Pod, ignored it, or left it without
// an answer. A conflict is a refusal only if the Pod has not changed: admission may answer with one.
func (r *Reconciler) isRefused(ctx context.Context, pod *TrimmedPod, err error) bool {
	if status.IsOutdated(err) {
		current, err := r.Server.Pod(ctx, client.ObjectKeyFromObject(pod))
		return err == nil && current.UID == pod.UID && current.ResourceVersion == pod.ResourceVersion
	}
	var answer apierrors.APIStatus
	return errors.As(err, &answer) || errors.Is(err, errIgnored) || ctx.Err() == nil && isTimeout(err)
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// requeue has an At reconciled when it is to wake, before others if it is urgent then.
func (r *Reconciler) requeue(wake, urgent time.Time) reconcile.Result {
	result := status.RequeueAt(wake, r.Clock.Now())
	result.Priority = ptr.To(0)
	if wake.Equal(urgent) {
		result.Priority = ptr.To(duePriority)
	}
	return result
}

// reportOpened logs and counts an opened gate. Its event was recorded with the start, as other Ats may be
// due now.
func (r *Reconciler) reportOpened(ctx context.Context, at *TrimmedAt, decision Decision) {
	delay := r.Clock.Now().Sub(decision.Due)
	if armed := meta.FindStatusCondition(at.Status.Conditions, Armed); armed != nil &&
		!armed.LastTransitionTime.After(decision.Due) {
		openDelay.Observe(delay.Seconds()) // an At that was armed later opens later
	}
	ctrl.LoggerFrom(ctx).Info("Opened the gate", "pod", decision.Open.Name, "due", decision.Due, "delay",
		delay.String())
}

// report logs and counts a written status, and records its event.
func (r *Reconciler) report(ctx context.Context, at *TrimmedAt, next cnatv1alpha1.AtStatus) {
	before := condition.FindReady(at.Status.Conditions)
	after := condition.FindReady(next.Conditions)
	if at.Status.Phase == next.Phase && before.Reason == after.Reason {
		return
	}
	ctrl.LoggerFrom(ctx).Info("Status changed", "phase", next.Phase, "reason", after.Reason, "message", after.Message)

	if next.Phase == cnatv1alpha1.AtRunning && at.Status.Phase != cnatv1alpha1.AtRunning {
		r.Events.Eventf(at, nil, corev1.EventTypeNormal, "Opening", "Open", "The gate of Pod %s opens",
			next.Run.PodName)
	}
	ended := next.Phase == cnatv1alpha1.AtDone && after.Reason != ReasonAlreadyRan
	if ended {
		runs.WithLabelValues(after.Reason).Inc()
	}
	if ended || meta.IsStatusConditionTrue(next.Conditions, condition.Stalled) {
		status.RecordReady(r.Events, at, next.Conditions)
	}
}

var (
	openDelay = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "gatehouse_at_open_delay_seconds",
		Help:    "Time from the instant at which an At is due until its gate is open, of Ats that were armed by then.",
		Buckets: []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 300, 1800},
	})
	runs = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "gatehouse_at_runs_total",
		Help: "Runs that ended, by the reason of the At's Ready condition.",
	}, []string{"result"})
	phases = prometheus.NewDesc("gatehouse_ats", "Ats by phase.", []string{"phase"}, nil)
)

func init() {
	metrics.Registry.MustRegister(openDelay, runs)
}

// phaseGauge counts the Ats of a cache by phase.
func phaseGauge(cached setup.Cached) status.Gauge {
	phaseOf := func(at kind.Object) []string { return []string{string(at.(*TrimmedAt).Status.Phase)} }
	return status.StateGauge(phases, cached.Sources, phaseOf,
		string(cnatv1alpha1.AtPending), string(cnatv1alpha1.AtRunning), string(cnatv1alpha1.AtDone))
}
