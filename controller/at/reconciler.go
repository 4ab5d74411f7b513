// Package at runs Ats: it opens the gate of each one's Pod when it is due, and
// says in the status how far it is.
package at

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
)

// duePriority is the priority of an At that is due: of many that wait for a worker,
// those to open go before those to report on.
const duePriority = 100

// Reconciler brings an At from one step of its life to the next.
type Reconciler struct {
	Server Server
	Clock  clock.PassiveClock
	// Grace is for how long a Pod may be missing before an At is stalled: one sync
	// brings the two seconds apart.
	Grace  time.Duration
	Events events.EventRecorder
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

	decision := decide(at, pods, r.Clock.Now(), r.Grace)
	if unseen {
		decision.Wake = earliest(decision.Wake, r.nextLook(decision))
	}

	switch written, err := r.write(ctx, at, decision); {
	case status.IsOutdated(err):
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, err
	case written:
		r.report(ctx, at, decision)
	}

	return r.requeue(decision), nil
}

// readPods reads the Pods of an At from the cache. The cache may lag behind the
// status, after a restart for one, so whether the armed Pod is really gone is
// asked of the API server: what follows from that cannot be taken back. A Pod that is
// unseen is not, or may not be, one whose events arrive.
func (r *Reconciler) readPods(ctx context.Context, at *cnatv1alpha1.At) (pods []corev1.Pod, unseen bool, err error) {
	key := client.ObjectKeyFromObject(at)
	pods, err = r.Server.Pods(ctx, key)
	if err != nil {
		return nil, false, fmt.Errorf("list Pods of At %s: %w", key, err)
	}
	run := at.Status.Run
	switch {
	case at.Status.Phase == cnatv1alpha1.AtDone:
		return pods, false, nil
	case run != nil && run.PodUID != "":
		return r.withArmedPod(ctx, at, pods)
	case len(pods) > 0 || !hasOtherManager(at):
		return pods, false, nil
	}
	pods, err = r.Server.UnseenPods(ctx, at)
	if err != nil {
		return nil, false, fmt.Errorf("list Pods of At %s that are not watched: %w", key, err)
	}
	return pods, true, nil
}

// withArmedPod adds the Pod of a run to those from the cache, if it is not there.
func (r *Reconciler) withArmedPod(ctx context.Context, at *cnatv1alpha1.At, pods []corev1.Pod) ([]corev1.Pod, bool, error) {
	run := at.Status.Run
	for i := range pods {
		if pods[i].UID == run.PodUID {
			return pods, false, nil
		}
	}
	pod, err := r.Server.Pod(ctx, client.ObjectKey{Namespace: at.Namespace, Name: run.PodName})
	switch {
	case apierrors.IsNotFound(err):
		return pods, hasOtherManager(at), nil
	case err != nil:
		return nil, false, fmt.Errorf("read Pod %s of At %s: %w", run.PodName, client.ObjectKeyFromObject(at), err)
	case pod.UID != run.PodUID:
		return pods, hasOtherManager(at), nil
	}
	return append(pods[:len(pods):len(pods)], *pod), true, nil
}

// hasOtherManager says whether an At has a label of its own that says what manages it. Its
// Pod had the same once, and what watches the Pods that Gatehouse manages does not see it.
// Such a Pod may wait for its time for long: as a rule nothing applies it again.
func hasOtherManager(at *cnatv1alpha1.At) bool {
	manager, ok := at.Labels[kind.ManagedByLabel]
	return ok && manager != kind.ManagedBy
}

// nextLook is when to look again at a Pod of which no event tells; zero for never.
func (r *Reconciler) nextLook(decision Decision) time.Time {
	const often = 10 * time.Second
	switch {
	case decision.Open != nil:
		return r.Clock.Now()
	case decision.Status.Phase == cnatv1alpha1.AtDone:
		return time.Time{}
	default:
		return r.Clock.Now().Add(often)
	}
}

// write writes what was decided, if anything, and says whether it did.
func (r *Reconciler) write(ctx context.Context, at *cnatv1alpha1.At, decision Decision) (bool, error) {
	next := decision.Status
	var openErr error
	if decision.Open != nil {
		openErr = r.Server.Open(ctx, decision.Open)
		if openErr == nil {
			return true, nil
		}
		openErr = fmt.Errorf("open gate of Pod %s: %w", client.ObjectKeyFromObject(decision.Open), openErr)
		if !apierrors.IsForbidden(openErr) && !apierrors.IsInvalid(openErr) {
			return false, openErr
		}
		next = openRefusedStatus(at, decision.Open, r.Clock.Now(), openErr)
	}
	if status.Equal(at.Status, next) {
		return false, openErr
	}
	if err := r.Server.Apply(ctx, at, next); err != nil {
		return false, fmt.Errorf("apply status of At %s: %w", client.ObjectKeyFromObject(at), err)
	}
	return true, openErr
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
