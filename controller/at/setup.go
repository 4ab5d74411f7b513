package at

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
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
	Kind:  kindat.Kind,
	Trim:  func(object client.Object) client.Object { return trimPod(object.(*corev1.Pod)) },
	Setup: addController,
}

func addController(_ context.Context, mgr ctrl.Manager, rendered setup.Rendered, options setup.Options) error {
	if err := mgr.Add(phaseGauge(mgr.GetCache())); err != nil {
		return err
	}
	// However long the API server was away, what became due meanwhile opens soon
	// after it is back.
	retries := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, 5*time.Second)
	reconciler := &Reconciler{
		Server: &server{client: mgr.GetClient(), rendered: rendered, live: mgr.GetAPIReader()},
		Clock:  clock.RealClock{},
		Grace:  options.Grace,
		Events: mgr.GetEventRecorder(string(status.FieldOwner)),
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&cnatv1alpha1.At{}).
		WatchesRawSource(rendered.Events(&corev1.Pod{}, atOnce)).
		WatchesRawSource(clockSteps(mgr.GetCache())).
		WithOptions(controller.Options{RateLimiter: retries}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), reconciler))
}

func atOnce(context.Context, client.Object, client.ObjectKey) time.Duration { return 0 }
