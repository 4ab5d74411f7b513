package at

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cnatv1alpha1 "example.com/gatehouse/apis/cnat/v1alpha1"
	"example.com/gatehouse/controller/setup"
	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/render/kinds"
)

// Controller is the controller of Ats.
var Controller = setup.Controller{
	Name:     "Ats",
	Types:    runtime.SchemeBuilder{cnatv1alpha1.AddToScheme, corev1.AddToScheme},
	Label:    kinds.AtLabel,
	Rendered: map[client.Object]toolscache.TransformFunc{&corev1.Pod{}: setup.Trim(trimPod)},
	Setup:    addController,
}

// podsByAt is the index of Pods by the name of the At that they were rendered from.
const podsByAt = "at"

func addController(ctx context.Context, mgr ctrl.Manager, rendered cache.Cache, options setup.Options) error {
	err := rendered.IndexField(ctx, &corev1.Pod{}, podsByAt, func(pod client.Object) []string { return []string{atName(pod)} })
	if err != nil {
		return err
	}
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
		WatchesRawSource(source.Kind(rendered, &corev1.Pod{}, handler.TypedEnqueueRequestsFromMapFunc(requestAt))).
		WatchesRawSource(clockSteps(mgr.GetCache())).
		WithOptions(controller.Options{RateLimiter: retries}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), reconciler))
}

// requestAt requests the At that a Pod was rendered from.
func requestAt(_ context.Context, pod *corev1.Pod) []reconcile.Request {
	key := client.ObjectKey{Namespace: pod.Namespace, Name: atName(pod)}
	return []reconcile.Request{{NamespacedName: key}}
}

// atName is the name of the At that a Pod was rendered from.
func atName(pod client.Object) string {
	return pod.GetLabels()[kinds.AtLabel]
}
