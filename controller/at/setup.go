package at

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/controller/status"
	kindat "example.com/gatehouse/kind/at"
)

// Controller is the controller of Ats.
var Controller = setup.Controller{
	Kind:    kindat.Kind,
	Trim:    func(object client.Object) client.Object { return trimPod(object.(*corev1.Pod)) },
	TrimOwn: func(object client.Object) { trimAt(object.(*cnatv1alpha1.At)) },
	Setup:   addController,
}

func addController(ctx context.Context, mgr ctrl.Manager, rendered setup.Rendered, options setup.Options) error {
	if err := mgr.Add(phaseGauge(mgr.GetCache())); err != nil {
		return err
	}
	waiting, err := countWaiting(ctx, mgr.GetCache())
	if err != nil {
		return err
	}
	// However long the API server was away, what became due meanwhile opens soon
	// after it is back.
	retries := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, 5*time.Second)
	reconciler := &Reconciler{
		Server: &Server{client: mgr.GetClient(), rendered: rendered, live: mgr.GetAPIReader(), together: waiting.together},
		Clock:  clock.RealClock{},
		Grace:  options.Grace,
		Events: mgr.GetEventRecorder(string(status.FieldOwner)),

		IsElected: func() bool { return isClosed(mgr.Elected()) },
		IsFresh:   options.IsFresh,
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&cnatv1alpha1.At{}).
		WatchesRawSource(rendered.Events(&corev1.Pod{}, atOnce)).
		WatchesRawSource(clockSteps(mgr.GetCache())).
		WatchesRawSource(election(mgr.GetCache(), mgr.Elected())).
		WithOptions(controller.Options{
			RateLimiter: retries,
			// A replica that stands by starts what its leader does not.
			NeedLeaderElection: ptr.To(false),
		}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), reconciler))
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
