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
	pods, err := r.readPods(ctx, at)
	if err != nil {
		return reconcile.Result{}, err
	}

	decision := decide(at, pods, r.Clock.Now(), r.Grace)

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
// asked of the API server: what follows from that cannot be taken back.
func (r *Reconciler) readPods(ctx context.Context, at *cnatv1alpha1.At) ([]corev1.Pod, error) {
	key := client.ObjectKeyFromObject(at)
	pods, err := r.Server.Pods(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("list Pods of At %s: %w", key, err)
	}
	run := at.Status.Run
	if run == nil || run.PodUID == "" || at.Status.Phase == cnatv1alpha1.AtDone {
		return pods, nil
	}
	for i := range pods {
		if pods[i].UID == run.PodUID {
			return pods, nil
		}
	}
	pod, err := r.Server.Pod(ctx, client.ObjectKey{Namespace: at.Namespace, Name: run.PodName})
	switch {
	case apierrors.IsNotFound(err):
		return pods, nil
	case err != nil:
		return nil, fmt.Errorf("read Pod %s of At %s: %w", run.PodName, key, err)
	case pod.UID != run.PodUID:
		return pods, nil
	}
	return append(pods[:len(pods):len(pods)], *pod), nil
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
