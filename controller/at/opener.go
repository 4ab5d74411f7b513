package at

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/status"
)

var atResource = cnatv1alpha1.SchemeGroupVersion.WithResource("ats").GroupResource()

// Opener opens the gates of Pods whose start is on record, when they are due. It has workers of its
// own: a webhook that holds up openings holds up no status.
type Opener struct{ *Reconciler }

// Reconcile opens the gate of the Pod of an At, if its start is on record and it is due.
func (o Opener) Reconcile(ctx context.Context, at *TrimmedAt) (reconcile.Result, error) {
	if !hasRecordedStart(at) {
		return reconcile.Result{}, nil
	}
	if o.Clock.Now().Before(at.due) {
		return o.requeue(at.due, at.due), nil
	}
	m, decision, _, err := o.decide(ctx, at)
	if err != nil || decision.Open == nil {
		return reconcile.Result{}, err
	}
	if wait, waits := o.waits(decision, m.now); waits {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	err = o.open(ctx, at, m, decision)
	if status.IsOutdated(err) {
		return reconcile.Result{RequeueAfter: lookAgain}, nil
	}
	return reconcile.Result{}, err
}

// hasRecordedStart reports whether an object is an At with a recorded start that has not ended.
func hasRecordedStart(object client.Object) bool {
	at, ok := object.(*TrimmedAt)
	return ok && at.DeletionTimestamp == nil && at.Status.Run != nil && isClaimed(*at.Status.Run) &&
		at.Status.Run.FinishedTime == nil
}

// open opens the gate of a Pod. The At may have been edited since its start was recorded, and the
// cache may not know it yet.
func (o Opener) open(ctx context.Context, at *TrimmedAt, m moment, decision Decision) error {
	pod := decision.Open
	version, err := o.Server.Version(ctx, at)
	if err != nil {
		return fmt.Errorf("read At %s: %w", client.ObjectKeyFromObject(at), err)
	}
	if version != at.ResourceVersion {
		return apierrors.NewConflict(atResource, at.Name, errors.New("it changed since its start was recorded"))
	}
	if o.IsElected() && !o.IsFresh() { // for one, the process was paused
		return apierrors.NewConflict(atResource, at.Name, errors.New("the lease may have run out"))
	}
	if err := o.Server.Open(ctx, at, pod); err != nil {
		err = fmt.Errorf("open gate of Pod %s: %w", client.ObjectKeyFromObject(pod), err)
		if !o.isRefused(ctx, pod, err) {
			return err
		}
		return o.reportRefusal(ctx, newSnapshot(at, nil, m), pod.Name, err)
	}
	o.reportOpened(ctx, at, decision)
	return nil
}
