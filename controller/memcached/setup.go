package memcached

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/render/kinds"
)

// Setup adds the controller of Memcacheds to a manager, whose cache holds
// Deployments as DeploymentCache says; pods is a cache that holds Pods as PodCache
// says.
func Setup(ctx context.Context, mgr ctrl.Manager, pods cache.Cache, grace time.Duration) error {
	if err := pods.IndexField(ctx, &corev1.Pod{}, podsByMemcached, memcachedOf); err != nil {
		return err
	}
	if err := mgr.Add(stateGauge(mgr.GetCache())); err != nil {
		return err
	}
	reconciler := &Reconciler{
		Client: mgr.GetClient(),
		Pods:   pods,
		Clock:  clock.RealClock{},
		Grace:  grace,
		Events: mgr.GetEventRecorder(string(status.FieldOwner)),
	}
	// For names the kind in the logs; it would handle events at once.
	never := predicate.NewPredicateFuncs(func(client.Object) bool { return false })
	return ctrl.NewControllerManagedBy(mgr).
		For(&cachev1alpha1.Memcached{}, builder.WithPredicates(never)).
		Watches(&cachev1alpha1.Memcached{}, enqueueAfter(soon, client.Object.GetName)).
		Watches(&appsv1.Deployment{}, enqueueAfter(soon, servedBy[client.Object])).
		WatchesRawSource(source.Kind(pods, &corev1.Pod{}, enqueueAfter(later, servedBy[*corev1.Pod]))).
		Complete(reconcile.AsReconciler(mgr.GetClient(), reconciler))
}

// A sync or a rollout changes a Memcached, its Deployment and its Pods many times
// within moments, and one status written after them says it all. What becomes of Pods
// is in the status of the Deployment soon after: only when one Pod takes the place of
// another may it not be.
const (
	soon  = time.Second
	later = 10 * time.Second
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// enqueueAfter handles every event of an object by a request, some time later, for
// the Memcached that has this name.
func enqueueAfter[T client.Object](delay time.Duration, name func(T) string) handler.TypedEventHandler[T, reconcile.Request] {
	enqueue := func(object T, q queue) {
		key := client.ObjectKey{Namespace: object.GetNamespace(), Name: name(object)}
		q.AddAfter(reconcile.Request{NamespacedName: key}, delay)
	}
	return handler.TypedFuncs[T, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[T], q queue) { enqueue(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[T], q queue) { enqueue(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[T], q queue) { enqueue(e.Object, q) },
	}
}

// servedBy is the name of the Memcached that an object was rendered from.
func servedBy[T client.Object](object T) string {
	return object.GetLabels()[kinds.MemcachedLabel]
}
