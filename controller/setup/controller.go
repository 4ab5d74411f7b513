// Package setup is how a controller comes into a manager: what it says of itself, and
// the cache that it is given.
package setup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

	// Setup adds the controller to a manager. What is rendered from the kind it reads
	// from rendered alone.
	Setup func(ctx context.Context, mgr ctrl.Manager, rendered Rendered, options Options) error
}

// Options are what all controllers are told.
type Options struct {
	// Namespaces are those to watch; none for all.
	Namespaces map[string]cache.Config
	// Grace is for how long what was rendered from a spec may be missing before its
	// object is stalled.
	Grace time.Duration
	// WatchErrorHandler is told of each error of a watch.
	WatchErrorHandler toolscache.WatchErrorHandlerWithContext
	// IsFresh reports whether the lease of the leader, which this replica is, has not run
	// out since it was last renewed.
	IsFresh func() bool
}

// AddTo adds controllers to a manager, and one cache of what is rendered for all of them,
// which it returns.
func AddTo(mgr ctrl.Manager, options Options, controllers []Controller) (cache.Cache, error) {
	controllers = slices.DeleteFunc(slices.Clone(controllers), func(c Controller) bool {
		return c.Kind.IsConverted() // no cluster has an object of it
	})
	rendered, err := newCache(mgr, controllers, options)
	if err != nil {
		return nil, fmt.Errorf("create the cache of what is rendered: %w", err)
	}
	return rendered, mgr.Add(&starter{
		mgr: mgr, rendered: rendered, options: options,
		controllers: controllers, indexed: sets.New[schema.GroupVersionKind](),
	})
}

// AddToScheme adds the types of controllers to a scheme: their kinds, and those of what is
// rendered from them and observed.
func AddToScheme(scheme *runtime.Scheme, controllers []Controller) error {
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	for _, c := range controllers {
		if err := c.Kind.AddToScheme(scheme); err != nil {
			return fmt.Errorf("add the types of %s: %w", c.Kind.GVK.Kind, err)
		}
	}
	return nil
}
