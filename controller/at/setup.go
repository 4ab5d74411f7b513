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
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/render/kinds"
)

// Setup adds the controller of Ats to a manager, whose cache holds Pods as
// PodCache says.
func Setup(ctx context.Context, mgr ctrl.Manager, grace time.Duration) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, podsByAt, atOf); err != nil {
		return err
	}
	if err := mgr.Add(phaseGauge(mgr.GetCache())); err != nil {
		return err
	}
	// However long the API server was away, what became due meanwhile opens soon
	// after it is back.
	retries := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, 5*time.Second)
	reconciler := &Reconciler{
		Server: &server{client: mgr.GetClient(), live: mgr.GetAPIReader()},
		Clock:  clock.RealClock{},
		Grace:  grace,
		Events: mgr.GetEventRecorder(string(status.FieldOwner)),
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&cnatv1alpha1.At{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(requestOfPod)).
		WatchesRawSource(clockSteps(mgr.GetCache())).
		WithOptions(controller.Options{RateLimiter: retries}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), reconciler))
}

// requestOfPod is for the At that a Pod was rendered from.
func requestOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	key := client.ObjectKey{Namespace: pod.GetNamespace(), Name: pod.GetLabels()[kinds.AtLabel]}
	return []reconcile.Request{{NamespacedName: key}}
}
