// Package memcached says in the status of each Memcached how its Deployment and
// Pods are.
package memcached

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "example.com/gatehouse/apis/cache/v1alpha1"
	cacheac "example.com/gatehouse/apis/cache/v1alpha1/applyconfiguration/cache/v1alpha1"
	"example.com/gatehouse/controller/status"
)

// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler keeps the status of a Memcached.
type Reconciler struct {
	Client client.Client
	// Rendered reads the Deployments and Pods of Memcacheds.
	Rendered client.Reader
	Clock    clock.PassiveClock
	// Grace is for how long the Deployment may be missing, or of another spec,
	// before a Memcached is stalled: one sync brings the two seconds apart.
	Grace  time.Duration
	Events events.EventRecorder
}

// Reconcile implements reconcile.ObjectReconciler.
func (r *Reconciler) Reconcile(ctx context.Context, m *cachev1alpha1.Memcached) (reconcile.Result, error) {
	if m.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	deployment, pods, err := r.read(ctx, m)
	if err != nil {
		return reconcile.Result{}, err
	}

	decision := decide(m, deployment, pods, r.Clock.Now(), r.Grace)

	if !status.Equal(m.Status, decision.Status) {
		err := r.apply(ctx, m, decision.Status)
		if status.IsOutdated(err) {
			return reconcile.Result{}, nil
		}
		if err != nil {
			return reconcile.Result{}, fmt.Errorf("apply status of Memcached %s: %w", client.ObjectKeyFromObject(m), err)
		}
		r.report(ctx, m, decision)
	}

	return status.RequeueAt(decision.Wake, r.Clock.Now()), nil
}

// read reads the Deployment, nil where there is none, and the Pods of a Memcached.
func (r *Reconciler) read(ctx context.Context, m *cachev1alpha1.Memcached) (*appsv1.Deployment, []corev1.Pod, error) {
	var pods corev1.PodList
	if err := r.Rendered.List(ctx, &pods, client.InNamespace(m.Namespace), client.MatchingFields{podsByMemcached: m.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("list Pods of Memcached %s: %w", client.ObjectKeyFromObject(m), err)
	}
	deployment := &appsv1.Deployment{}
	err := r.Rendered.Get(ctx, client.ObjectKeyFromObject(m), deployment)
	if apierrors.IsNotFound(err) || err == nil && deployment.DeletionTimestamp != nil {
		return nil, pods.Items, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read Deployment of Memcached %s: %w", client.ObjectKeyFromObject(m), err)
	}
	return deployment, pods.Items, nil
}

// apply makes a status that of a Memcached.
func (r *Reconciler) apply(ctx context.Context, m *cachev1alpha1.Memcached, next cachev1alpha1.MemcachedStatus) error {
	return status.Apply(ctx, r.Client, cacheac.Memcached(m.Name, m.Namespace).
		WithUID(m.UID).
		WithResourceVersion(m.ResourceVersion).
		WithStatus(cacheac.MemcachedStatus().
			WithObservedGeneration(next.ObservedGeneration).
			WithConditions(status.ConditionConfigurations(next.Conditions)...).
			WithSize(*next.Size).
			WithReadySize(*next.ReadySize).
			WithNodes(next.Nodes...)))
}

// report tells the log and the events of a status that was written.
func (r *Reconciler) report(ctx context.Context, m *cachev1alpha1.Memcached, decision Decision) {
	before, after := status.FindReady(m.Status.Conditions), status.FindReady(decision.Status.Conditions)
	if before.Reason == after.Reason && before.Status == after.Status {
		return
	}
	ctrl.LoggerFrom(ctx).Info("Status changed", "reason", after.Reason, "message", after.Message)
	if meta.IsStatusConditionTrue(decision.Status.Conditions, status.Stalled) {
		status.RecordReady(r.Events, m, decision.Status.Conditions)
	}
}
