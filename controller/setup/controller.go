// Package setup adds controllers to a manager: their description, their cache and their queue.
package setup

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"example.com/gatehouse/kind"
)

// Controller is the controller of a kind. Package observe makes one for a kind that needs only its
// status written.
type Controller struct {
	Kind kind.Kind

	// Trim returns the cached form of a rendered object of the kind, which it may change. The form
	// keeps at least the label of the kind. If nil, kind.Observation describes the form.
	Trim func(client.Object) client.Object

	// TrimOwn returns the cached form of an object of the kind's Go type, which it may change. If nil, the
	// cache keeps the object.
	TrimOwn func(client.Object) client.Object

	// ConditionTypes are the condition types that the controller owns. It removes such conditions
	// if others wrote them.
	ConditionTypes []string

	// Setup adds the controller to a manager. The controller reads source objects and rendered objects of its
	// kind only from cached: the manager's client cannot read their cached forms.
	Setup func(ctx context.Context, mgr ctrl.Manager, cached Cached, options Options) error
}

// Options are the options of all controllers.
type Options struct {
	// Namespaces are the watched namespaces; empty for all.
	Namespaces []string
	// Grace is how long a rendered object may be missing before its source object is stalled.
	Grace time.Duration
	// IsFresh reports whether the lease of this replica, the leader, is still valid since its last
	// renewal.
	IsFresh func() bool
	// Clock is the API server's.
	Clock *Clock
	// Live reads from the API server, not from a cache.
	Live client.Reader
	// Patient writes with PatientTimeout.
	Patient client.Writer
	// Concurrency is how many objects of one kind and namespace are reconciled at a time.
	Concurrency int
}

// Controller returns the options that all controllers have.
func (o Options) Controller() controller.Options {
	return controller.Options{MaxConcurrentReconciles: shares * o.Concurrency, NewQueue: newFairQueue(o.Concurrency)}
}

// RequestTimeout is how long a request of a controller may take. The API server learns it too, and
// drops a request that a webhook delays for longer.
const RequestTimeout = 5 * time.Second

// PatientTimeout is how long a write may take after a request took too long. A webhook may take 30 seconds,
// and the API server ends a patch after 34.
const PatientTimeout = 35 * time.Second

// AddTo adds controllers to a manager whose cache NewCache constructed.
func AddTo(mgr ctrl.Manager, options Options, controllers []Controller) error {
	return mgr.Add(&starter{mgr: mgr, options: options, controllers: controllers})
}
