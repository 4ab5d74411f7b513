package setup

import (
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// addCache adds a cache of what is rendered from the kind to a manager. Each controller
// has one: a cache has one selector a type, and no selector means "this label or that".
func (c Controller) addCache(mgr ctrl.Manager, namespaces map[string]cache.Config) (cache.Cache, error) {
	labelled, err := labels.Parse(c.Label) // that it exists
	if err != nil {
		return nil, err
	}
	trimmed := map[client.Object]cache.ByObject{}
	for object, trim := range c.Rendered {
		trimmed[object] = cache.ByObject{Transform: trim}
	}
	rendered, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient:           mgr.GetHTTPClient(),
		Scheme:               mgr.GetScheme(),
		Mapper:               mgr.GetRESTMapper(),
		DefaultNamespaces:    namespaces,
		DefaultLabelSelector: labelled,
		ByObject:             trimmed,
	})
	if err != nil {
		return nil, err
	}
	return rendered, mgr.Add(warmCache{rendered})
}

// warmCache is a cache that a manager starts with its own and before any controller,
// also on a replica that stands by. The manager knows such a cache by GetCache; another
// would start with the leader's controllers, too late for those that warm up.
type warmCache struct{ cache.Cache }

// GetCache returns the cache itself.
func (w warmCache) GetCache() cache.Cache { return w.Cache }

// Trim has a cache keep of objects of one type what trim returns.
func Trim[T client.Object](trim func(T) T) toolscache.TransformFunc {
	return func(object any) (any, error) {
		typed, ok := object.(T)
		if !ok { // it tells of a deletion that was missed
			return object, nil
		}
		return trim(typed), nil
	}
}
