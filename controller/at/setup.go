package at

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
	kindat "example.com/gatehouse/kind/at"
)

// Controller is the controller of Ats.
var Controller = setup.Controller{
	Kind:    kindat.Kind,
	Trim:    func(object client.Object) client.Object { return trimPod(object.(*corev1.Pod)) },
	TrimOwn: func(object client.Object) client.Object { return trimAt(object.(*cnatv1alpha1.At)) },
	Setup:   addController,

	ConditionTypes: conditionTypes,
}

func addController(ctx context.Context, mgr ctrl.Manager, cached setup.Cached, options setup.Options) error {
	if err := mgr.Add(phaseGauge(cached)); err != nil {
		return err
	}
	waiting, err := countWaiting(ctx, mgr.GetCache())
	if err != nil {
		return err
	}
	reconciler := &Reconciler{
		Server: &Server{
			client: mgr.GetClient(), patient: options.Patient, live: options.Live,
			children: cached.Children, together: waiting.together,
		},
		Clock:  options.Clock,
		Grace:  options.Grace,
		Events: mgr.GetEventRecorder(string(status.FieldOwner)),

		IsElected: func() bool { return isClosed(mgr.Elected()) },
		IsFresh:   options.IsFresh,
	}
	steps := clockSteps(cached, options.Clock)
	err = newBuilder(mgr, options).Named("at").
		For(&cnatv1alpha1.At{}).
		WatchesRawSource(cached.Events(&corev1.Pod{}, atOnce)).
		WatchesRawSource(steps).
		WatchesRawSource(election(cached, mgr.Elected())).
		Complete(cached.Reconciler(func(ctx context.Context, at kind.Object) (reconcile.Result, error) {
			return reconciler.Reconcile(ctx, at.(*TrimmedAt))
		}))
	if err != nil {
		return err
	}
	// Thousands of Ats may wait in the queue of the Reconciler, and few in this one. The Opener reads
	// Pods that it does not find in the cache.
	notCreated := predicate.Funcs{CreateFunc: func(event.CreateEvent) bool { return false }}
	return newBuilder(mgr, options).Named("at-opener").
		For(&cnatv1alpha1.At{}, builder.WithPredicates(predicate.NewPredicateFuncs(hasRecordedStart))).
		WatchesRawSource(cached.Events(&corev1.Pod{}, atOnce, notCreated)).
		WatchesRawSource(steps).
		Complete(cached.Reconciler(func(ctx context.Context, at kind.Object) (reconcile.Result, error) {
			return Opener{reconciler}.Reconcile(ctx, at.(*TrimmedAt))
		}))
}

// newBuilder returns the builder of a controller of Ats. It runs on a standby, too, which does the work
// of a leader that is late.
func newBuilder(mgr ctrl.Manager, options setup.Options) *ctrl.Builder {
	base := options.Controller()
	base.NeedLeaderElection = ptr.To(false)
	// Overdue Ats open soon after an API server is back, however long it was away.
	base.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond,
		5*time.Second)
	return ctrl.NewControllerManagedBy(mgr).WithOptions(base)
}

func atOnce(context.Context, client.Object, client.ObjectKey) time.Duration { return 0 }

func isClosed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}
