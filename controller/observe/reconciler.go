package observe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/condition"
	"example.com/gatehouse/kind/registry"
)

// reconciler writes the status of the objects of a kind.
type reconciler struct {
	kind   kind.Kind
	client client.Client
	cached setup.Cached
	clock  clock.PassiveClock
	// grace is how long a rendered object may be missing or stale before its source object is
	// stalled. A sync applies them seconds apart.
	grace  time.Duration
	events events.EventRecorder
	// hung maps the UID of an object to its last generation whose Expand or Status hung.
	hung sync.Map
}

func (r *reconciler) reconcile(ctx context.Context, owner kind.Object) (reconcile.Result, error) {
	if owner.GetDeletionTimestamp() != nil || r.isHung(owner) {
		return reconcile.Result{}, nil
	}
	key := client.ObjectKeyFromObject(owner)
	children, err := r.readChildren(ctx, key)
	if err != nil {
		return reconcile.Result{}, err
	}

	decided, err := Decide(r.kind, owner, children, r.clock.Now(), r.grace)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("decide status of %s %s: %w", r.kind.GVK().Kind, key, err)
	}
	r.noteHang(owner, decided.Failure)

	err = r.write(ctx, owner, decided)
	switch {
	case status.IsOutdated(err):
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, err
	}

	r.report(ctx, owner, conditionsOf(decided.after))

	return status.RequeueAt(decided.Wake, r.clock.Now()), nil
}

func (r *reconciler) readChildren(ctx context.Context, from client.ObjectKey) (children []kind.Object, err error) {
	for _, gvk := range setup.ObservedTypes(r.kind) {
		ofType, err := r.cached.Children(ctx, gvk, from)
		if err != nil {
			return nil, fmt.Errorf("list objects of %s from %s %s: %w", gvk.GroupKind(), r.kind.GVK().Kind, from, err)
		}
		children = append(children, ofType...)
	}
	return children, nil
}

// noteHang records that a function of the kind hangs for an object. It still runs, and each further
// call would add another that runs forever.
func (r *reconciler) noteHang(owner kind.Object, err error) {
	if errors.Is(err, registry.ErrHangs) {
		r.hung.Store(owner.GetUID(), owner.GetGeneration())
	}
}

// isHung reports whether a function of the kind hung for the current generation of an object.
func (r *reconciler) isHung(owner kind.Object) bool {
	generation, ok := r.hung.Load(owner.GetUID())
	return ok && generation == owner.GetGeneration()
}

// write writes the decided status, unless the object already has it.
func (r *reconciler) write(ctx context.Context, owner kind.Object, decided Decision) error {
	if status.Equal(statusOf(owner), statusOf(decided.after)) {
		return nil
	}
	if _, err := status.Apply(ctx, r.client, r.kind.GVK(), owner, decided.Status); err != nil {
		return fmt.Errorf("apply status of %s %s: %w", r.kind.GVK().Kind, client.ObjectKeyFromObject(owner), err)
	}
	return nil
}

// report logs a change of Ready, and records an event if the object is stalled.
func (r *reconciler) report(ctx context.Context, owner kind.Object, conditions []metav1.Condition) {
	before := condition.FindReady(conditionsOf(owner))
	after := condition.FindReady(conditions)
	if before.Reason == after.Reason && before.Status == after.Status {
		return
	}
	ctrl.LoggerFrom(ctx).Info("Status changed", "reason", after.Reason, "message", after.Message)
	if meta.IsStatusConditionTrue(conditions, condition.Stalled) {
		status.RecordReady(r.events, owner, conditions)
	}
}
