package setup

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"example.com/gatehouse/kind"
)

// byOwner is the index of rendered objects by what they were rendered from.
const byOwner = "owner"

// newCache adds a cache of what is rendered to a manager: one for all controllers, so that
// there is one watch of each type.
func newCache(mgr ctrl.Manager, controllers []Controller, options Options) (cache.Cache, error) {
	rendered, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient:               mgr.GetHTTPClient(),
		Scheme:                   mgr.GetScheme(),
		Mapper:                   mgr.GetRESTMapper(),
		DefaultNamespaces:        options.Namespaces,
		DefaultLabelSelector:     labels.SelectorFromSet(labels.Set{kind.ManagedByLabel: kind.ManagedBy}),
		DefaultTransform:         transform(mgr.GetScheme(), controllers),
		DefaultWatchErrorHandler: options.WatchErrorHandler,
	})
	if err != nil {
		return nil, err
	}
	return rendered, mgr.Add(warmCache{rendered})
}

// transform returns what trims an object before it is cached, as the controller of the kind
// says whose label it carries. Of one that carries none its name remains.
func transform(scheme *runtime.Scheme, controllers []Controller) toolscache.TransformFunc {
	return func(o any) (any, error) {
		object, ok := o.(client.Object)
		if !ok { // it tells of a deletion that was missed
			return o, nil
		}
		gvk, err := apiutil.GVKForObject(object, scheme)
		if err != nil {
			return nil, err
		}
		for _, c := range controllers {
			switch {
			case object.GetLabels()[c.Kind.Label] == "" || !observes(c, gvk):
			case c.Trim != nil:
				return c.Trim(object), nil
			default:
				return trim(object, gvk, c.Kind.Label), nil
			}
		}
		return nameOnly(object, gvk), nil
	}
}

func observes(c Controller, gvk schema.GroupVersionKind) bool {
	child := c.Kind.Observes(gvk.GroupKind())
	return child != nil && child.GVK == gvk
}

// ownersOf returns what indexes an object by each label of a kind that it carries.
func ownersOf(controllers []Controller) client.IndexerFunc {
	return func(object client.Object) (owners []string) {
		for _, c := range controllers {
			if name := object.GetLabels()[c.Kind.Label]; name != "" {
				owners = append(owners, owner(c.Kind.Label, name))
			}
		}
		return owners
	}
}

func owner(label, name string) string { return label + "=" + name }

// warmCache is a cache that a manager starts with its own and before any controller,
// also on a replica that stands by. The manager knows such a cache by GetCache; another
// would start with the leader's controllers, too late for those that warm up.
type warmCache struct{ cache.Cache }

// GetCache returns the cache itself.
func (w warmCache) GetCache() cache.Cache { return w.Cache }
