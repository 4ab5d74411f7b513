// Package at runs Ats: it opens the gate of each one's Pod when it is due, and
// says in the status how far it is.
package at

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
)

var atResource = cnatv1alpha1.SchemeGroupVersion.WithResource("ats").GroupResource()

const (
	// duePriority is the priority of an At that is due: of many that wait for a worker,
	// those to open go before those to report on.
	duePriority = 100

	// standbyDelay is how late an At is when a replica that is not elected starts it: its
	// leader must have died. What is on record makes that safe.
	standbyDelay = 3 * time.Second

	// lookAgain is how soon to look again at what no event tells of.
	lookAgain = 10 * time.Second
)

// Reconciler brings an At from one step of its life to the next.
type Reconciler struct {
	Server *Server
	Clock  clock.PassiveClock
	// Grace is for how long a Pod may be missing before an At is stalled: one sync
	// brings the two seconds apart.
	Grace  time.Duration
	Events events.EventRecorder

	// IsElected reports whether this replica is the leader; IsFresh, whether its lease
	// has not run out since it was last renewed.
	IsElected, IsFresh func() bool
}

// Reconcile implements reconcile.ObjectReconciler.
func (r *Reconciler) Reconcile(ctx context.Context, at *cnatv1alpha1.At) (reconcile.Result, error) {
	if at.DeletionTimestamp != nil { // an At that is going starts nothing
		return reconcile.Result{}, nil
	}
	pods, unseen, err := r.readPods(ctx, at)
	if err != nil {
		return reconcile.Result{}, err
	}
	m := moment{grace: r.Grace, lead: r.lead(at), now: r.Clock.Now()}

	decision := decide(at, pods, m)

	if wait, waits := r.waits(decision, m.now); waits {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	switch err := r.carryOut(ctx, at, m, decision); {
	case status.IsOutdated(err):
		// As a rule the event of what is newer is on its way.
		return reconcile.Result{RequeueAfter: lookAgain}, nil
	case err != nil:
		return reconcile.Result{}, err
	}

	if unseen && decision.Status.Phase != cnatv1alpha1.AtDone {
		decision.Wake = status.Earliest(decision.Wake, m.now.Add(lookAgain))
	}
	return r.requeue(decision), nil
}

// lead returns how long before an At is due its start is put on record, so that one write
// is left between due and started. Of many that are due together the records take longer.
func (r *Reconciler) lead(at *cnatv1alpha1.At) time.Duration {
	const each, most = 10 * time.Millisecond, 10 * time.Second
	if hasStarted(at) {
		return 0
	}
	return min(time.Duration(r.Server.together(at))*each, most)
}

// waits reports whether this replica leaves a decision to another one, and when it looks
// again; never for zero. One that is not elected starts what is late, and no more. A leader
// whose lease may have run out starts nothing.
func (r *Reconciler) waits(decision Decision, now time.Time) (time.Duration, bool) {
	starts := decision.Claim || decision.Open != nil
	late := decision.Due.Add(standbyDelay).Sub(now)
	switch {
	case r.IsElected():
		return time.Second, starts && !r.IsFresh()
	case starts && late <= 0:
		return 0, false
	case decision.Status.Phase == cnatv1alpha1.AtDone:
		return 0, true
	case late <= 0:
		return lookAgain, true
	default:
		return late, true
	}
}

// readPods reads the Pods of an At from the cache. The cache may lag behind the
// status, after a restart for one, so whether the armed Pod is really gone is
// asked of the API server: what follows from that cannot be taken back. A Pod that is
// unseen is not, or may not be, one whose events arrive.
func (r *Reconciler) readPods(ctx context.Context, at *cnatv1alpha1.At) (pods []corev1.Pod, unseen bool, err error) {
	key, run := client.ObjectKeyFromObject(at), at.Status.Run
	pods, err = r.Server.Pods(ctx, key)
	if err != nil {
		return nil, false, fmt.Errorf("list Pods of At %s: %w", key, err)
	}
	isArmed := run != nil && run.PodUID != ""
	if isArmed && (run.FinishedTime != nil || hasPod(pods, run.PodUID)) {
		return pods, false, nil
	}
	if isArmed {
		pod, err := r.Server.Pod(ctx, client.ObjectKey{Namespace: at.Namespace, Name: run.PodName})
		switch {
		case err == nil:
			pods, unseen = withPods(pods, *pod), true
		case !apierrors.IsNotFound(err):
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

func hasPod(pods []corev1.Pod, uid types.UID) bool {
	return slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.UID == uid })
}

// withPods returns Pods of the cache, and those of others that are not among them.
func withPods(pods []corev1.Pod, others ...corev1.Pod) []corev1.Pod {
	all := slices.Clone(pods)
	for _, other := range others {
		if !hasPod(all, other.UID) {
			all = append(all, other)
		}
	}
	return all
}

// hasOtherManager reports whether an At has a label of its own that says what manages it. Its
// Pod had the same once, and what watches the Pods that Gatehouse manages does not see it.
// Such a Pod may wait for its time for long: as a rule nothing applies it again.
func hasOtherManager(at *cnatv1alpha1.At) bool {
	manager, ok := at.Labels[kind.ManagedByLabel]
	return ok && manager != kind.ManagedBy
}

// carryOut makes the writes of a decision: hold, record, open.
func (r *Reconciler) carryOut(ctx context.Context, at *cnatv1alpha1.At, m moment, decision Decision) error {
	if pod := decision.Hold; pod != nil {
		if err := r.Server.Hold(ctx, pod, at.ResourceVersion); err != nil {
			err = fmt.Errorf("hold Pod %s: %w", client.ObjectKeyFromObject(pod), err)
			switch {
			case !r.isRefused(ctx, pod, err):
				return err
			case decision.Status.Phase != cnatv1alpha1.AtDone:
				return r.reportRefusal(ctx, at, m, pod, err)
			}
			// After its deadline an At does not wait until the API server refuses no more.
			// The start stays on record: a request that was sent before may yet succeed.
			decision.Status.Run = at.Status.Run
		}
	}

	recorded := at
	if !status.Equal(at.Status, decision.Status) {
		var err error
		if recorded, err = r.record(ctx, at, decision.Status); err != nil {
			return err
		}
	}
	if decision.Open == nil {
		return nil
	}
	return r.open(ctx, recorded, recorded != at, m, decision)
}

// record makes a status that of an At, and returns the At that has it.
func (r *Reconciler) record(ctx context.Context, at *cnatv1alpha1.At, next cnatv1alpha1.AtStatus) (*cnatv1alpha1.At, error) {
	recorded, err := r.Server.Apply(ctx, at, next)
	if err != nil {
		return nil, fmt.Errorf("apply status of At %s: %w", client.ObjectKeyFromObject(at), err)
	}
	r.report(ctx, at, next)
	return recorded, nil
}

// open opens the gate of the Pod whose start an At has on record. Where that was recorded
// earlier, the At may have been edited since, and the cache may not know it.
func (r *Reconciler) open(ctx context.Context, at *cnatv1alpha1.At, justRecorded bool, m moment, decision Decision) error {
	key, pod := client.ObjectKeyFromObject(at), decision.Open
	if !justRecorded {
		version, err := r.Server.Version(ctx, at)
		if err != nil {
			return fmt.Errorf("read At %s: %w", key, err)
		}
		if version != at.ResourceVersion {
			return apierrors.NewConflict(atResource, at.Name, errors.New("it changed since its start was put on record"))
		}
	}
	if r.IsElected() && !r.IsFresh() { // as when the process was paused
		return apierrors.NewConflict(atResource, at.Name, errors.New("the lease may have run out"))
	}
	if err := r.Server.Open(ctx, pod); err != nil {
		err = fmt.Errorf("open gate of Pod %s: %w", client.ObjectKeyFromObject(pod), err)
		if !r.isRefused(ctx, pod, err) {
			return err
		}
		return r.reportRefusal(ctx, at, m, pod, err)
	}
	r.reportOpened(ctx, at, decision)
	return nil
}

// reportRefusal says in the status of an At what the API server refuses, and returns the
// error by which it is tried again.
func (r *Reconciler) reportRefusal(ctx context.Context, at *cnatv1alpha1.At, m moment, pod *corev1.Pod, refusal error) error {
	refusal = errors.New(refusal.Error()) // whatever its code, it is no conflict of versions
	next := refusedStatus(at, m, pod, refusal)
	if status.Equal(at.Status, next) {
		return refusal
	}
	_, err := r.record(ctx, at, next)
	return errors.Join(refusal, err)
}

// isRefused reports whether the API server answered a write of a Pod, and not because the
// Pod has changed: admission may answer with a conflict, too.
func (r *Reconciler) isRefused(ctx context.Context, pod *corev1.Pod, err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	if !status.IsOutdated(err) {
		return true
	}
	current, err := r.Server.Pod(ctx, client.ObjectKeyFromObject(pod))
	return err == nil && current.UID == pod.UID && current.ResourceVersion == pod.ResourceVersion
}

// requeue says when to reconcile next although nothing changes, and how urgent it is.
func (r *Reconciler) requeue(decision Decision) reconcile.Result {
	result := status.RequeueAt(decision.Wake, r.Clock.Now())
	result.Priority = ptr.To(0)
	if decision.Wake.Equal(decision.Due) {
		result.Priority = ptr.To(duePriority)
	}
	return result
}
