// Package setup is how a controller comes into a manager: what it says of itself, and
// the cache that it is given.
package setup

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"example.com/gatehouse/kind"
)

// Controller is the controller of a kind that people write. Package observe makes one for
// a kind whose status is all that there is to do.
type Controller struct {
	Kind kind.Kind

	// Trim returns what is cached of an object that was rendered from the kind, which it
	// may change: at the least the label of the kind. Nil for what kind.Observation says.
	Trim func(client.Object) client.Object

	// TrimOwn takes from an object of the kind, which is of its Go type, what its
	// controller does not use. Nil for nothing.
	TrimOwn func(client.Object)

	// ConditionTypes are the condition types that the controller owns. It removes those that others
	// write.
	ConditionTypes []string

	// Setup adds the controller to a manager. What is rendered from the kind it reads
	// from rendered alone: the manager's cache has no other objects of such types, and no more
	// of these than is trimmed.
	Setup func(ctx context.Context, mgr ctrl.Manager, rendered Rendered, options Options) error
}

// Options are what all controllers are told.
type Options struct {
	// Namespaces are those to watch; none for all.
	Namespaces []string
	// Grace is for how long what was rendered from a spec may be missing before its
	// object is stalled.
	Grace time.Duration
	// IsFresh reports whether the lease of the leader, which this replica is, has not run
	// out since it was last renewed.
	IsFresh func() bool
	// Clock is the API server's.
	Clock *Clock
	// Live reads from the API server, not from a cache.
	Live client.Reader
	// Concurrency is how many objects of one kind and namespace are reconciled at a time.
	Concurrency int
}

// Controller returns the options that all controllers have.
func (o Options) Controller() controller.Options {
	return controller.Options{MaxConcurrentReconciles: shares * o.Concurrency, NewQueue: newFairQueue(o.Concurrency)}
}

// RequestTimeout is how long a request of a controller may take. The API server learns it, too: it
// drops a request that a webhook holds up for longer.
const RequestTimeout = 5 * time.Second

// AddTo adds controllers to a manager whose cache is one of NewCache.
func AddTo(mgr ctrl.Manager, options Options, controllers []Controller) error {
	return mgr.Add(&starter{mgr: mgr, options: options, controllers: controllers, indexed: sets.New[schema.GroupVersionKind]()})
}
