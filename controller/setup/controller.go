// Package setup is how a controller comes into a manager: what it says of itself, and
// the cache that it is given.
package setup

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Controller is the controller of a kind that users write.
type Controller struct {
	// Name is the plural of the kind, for messages.
	Name string

	// Types adds to a scheme the kind and the types of Rendered.
	Types runtime.SchemeBuilder

	// Label is on everything that is rendered from the kind; its value is the name of
	// the object that it was rendered from.
	Label string

	// Rendered are the types of rendered objects that the controller reads, each with
	// what trims an object before it is cached: to what decisions are made from.
	Rendered map[client.Object]toolscache.TransformFunc

	// Setup adds the controller to a manager. What is rendered from the kind it reads
	// from rendered alone.
	Setup func(ctx context.Context, mgr ctrl.Manager, rendered cache.Cache, options Options) error
}

// Options are what all controllers are told.
type Options struct {
	// Namespaces are those to watch; none for all.
	Namespaces map[string]cache.Config
	// Grace is for how long what was rendered from a spec may be missing before its
	// object is stalled.
	Grace time.Duration
}

// AddTo adds the controller and its cache to a manager.
func (c Controller) AddTo(ctx context.Context, mgr ctrl.Manager, options Options) error {
	rendered, err := c.addCache(mgr, options.Namespaces)
	if err != nil {
		return fmt.Errorf("create the cache of what is rendered: %w", err)
	}
	return c.Setup(ctx, mgr, rendered, options)
}
