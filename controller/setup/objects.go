package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"example.com/gatehouse/controller/status"
	"example.com/gatehouse/kind"
)

// objects is a cache of source objects and rendered objects. Cached reads them. A Go client decodes a list
// entirely or not at all. This cache reads source objects as plain JSON and decodes each by itself, so that
// one undecodable object is left out and all others are served.
type objects struct {
	cache.Cache
	scheme      *runtime.Scheme
	controllers []Controller

	mu sync.Mutex
	// informers are the informers of each type, one per watched namespace.
	informers map[schema.GroupVersionKind][]toolscache.SharedIndexInformer
}

// largestObject limits the JSON of a trimmed object in the cache, in bytes.
const largestObject = 128 << 10

// NewCache returns the cache constructor for a manager. It caches all source objects, and of other
// types only rendered objects.
func NewCache(controllers []Controller) cache.NewCacheFunc {
	return func(config *rest.Config, options cache.Options) (_ cache.Cache, err error) {
		o := &objects{scheme: options.Scheme, controllers: controllers,
			informers: map[schema.GroupVersionKind][]toolscache.SharedIndexInformer{}}
		options.DefaultLabelSelector = labels.SelectorFromSet(labels.Set{kind.ManagedByLabel: kind.ManagedBy})
		options.DefaultTransform = transform(options.Scheme, controllers)
		options.ByObject = map[client.Object]cache.ByObject{}
		// The cache asks the mapper for a kind at once, and the cluster may not know the kind yet.
		known := meta.NewDefaultRESTMapper(nil)
		options.Mapper = meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{known, options.Mapper}}
		for _, c := range controllers {
			group := c.Kind.GVK().GroupVersion()
			singular := strings.ToLower(c.Kind.GVK().Kind)
			known.AddSpecific(c.Kind.GVK(), group.WithResource(c.Kind.Plural()), group.WithResource(singular),
				meta.RESTScopeNamespace)
			options.ByObject[untyped(c.Kind.GVK())] = cache.ByObject{Label: labels.Everything(), Transform: c.transform}
		}
		options.NewInformer = o.newInformer
		o.Cache, err = cache.New(config, options)
		return o, err
	}
}

func (o *objects) newInformer(source toolscache.ListerWatcher, object runtime.Object, resync time.Duration,
	indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	indexers[byOwner] = o.ownersOf
	informer := toolscache.NewSharedIndexInformer(source, object, resync, indexers)
	if gvk, err := apiutil.GVKForObject(object, o.scheme); err == nil { // the cache knows the types that it reads
		o.mu.Lock()
		defer o.mu.Unlock()
		o.informers[gvk] = append(o.informers[gvk], informer)
	}
	return informer
}

// GetInformer implements cache.Informers.
func (o *objects) GetInformer(ctx context.Context, object client.Object,
	options ...cache.InformerGetOption) (cache.Informer, error) {
	gvk, err := apiutil.GVKForObject(object, o.scheme)
	isSource := func(c Controller) bool { return c.Kind.GVK() == gvk }
	if err == nil && slices.ContainsFunc(o.controllers, isSource) {
		object = untyped(gvk)
	}
	return o.Cache.GetInformer(ctx, object, options...)
}

// syncedInformers returns the informers of a type once they have all objects.
func (o *objects) syncedInformers(ctx context.Context,
	gvk schema.GroupVersionKind) ([]toolscache.SharedIndexInformer, error) {
	if _, err := o.GetInformer(ctx, NewObject(gvk)); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.informers[gvk], nil
}

// get returns an object, which may be a leftOut, or nil if it does not exist.
func (o *objects) get(ctx context.Context, gvk schema.GroupVersionKind, key client.ObjectKey) (kind.Object, error) {
	informers, err := o.syncedInformers(ctx, gvk)
	if err != nil {
		return nil, err
	}
	for _, informer := range informers {
		cached, ok, err := informer.GetIndexer().GetByKey(toolscache.NewObjectName(key.Namespace, key.Name).String())
		if err != nil {
			return nil, err
		}
		if ok {
			return cached.(kind.Object), nil
		}
	}
	return nil, nil
}

// all returns the served objects of a kind, and the objects that are left out.
func (o *objects) all(ctx context.Context, gvk schema.GroupVersionKind) (all []kind.Object, left []*leftOut,
	err error) {
	informers, err := o.syncedInformers(ctx, gvk)
	for _, informer := range informers {
		for _, cached := range informer.GetIndexer().List() {
			if l, ok := cached.(*leftOut); ok {
				left = append(left, l)
			} else {
				all = append(all, cached.(kind.Object))
			}
		}
	}
	return all, left, err
}

// ownedBy returns the objects of a type with an owner.
func (o *objects) ownedBy(ctx context.Context, gvk schema.GroupVersionKind, owner string) (all []kind.Object,
	err error) {
	informers, err := o.syncedInformers(ctx, gvk)
	if err != nil {
		return nil, err
	}
	for _, informer := range informers {
		owned, err := informer.GetIndexer().ByIndex(byOwner, owner)
		if err != nil {
			return nil, err
		}
		for _, cached := range owned {
			all = append(all, cached.(kind.Object))
		}
	}
	return all, nil
}

// transform returns the cached form of an object of the controller's kind.
func (c Controller) transform(object any) (any, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok { // already transformed, or a tombstone of a missed deletion
		return object, nil
	}
	trimmed, reason, err := c.trimOwn(u)
	if err == nil {
		return trimmed, nil
	}
	ctrl.Log.WithName("cache").Error(err, "Left out an object: its status is not kept", "kind", c.Kind.GVK().Kind,
		"namespace", u.GetNamespace(), "name", u.GetName())
	left := &leftOut{kind: c.Kind.GVK(), reason: reason, message: err.Error()}
	left.ObjectMeta = Identity(u)
	return left, nil
}

// trimOwn decodes an object of the controller's kind and returns its cached form. The error and
// its reason explain an object that is left out.
func (c Controller) trimOwn(u *unstructured.Unstructured) (trimmed client.Object, reason string, err error) {
	trimmed = c.Kind.New()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, trimmed); err != nil {
		return nil, undecodable, fmt.Errorf("decode: %w", err)
	}
	managers := trimmed.GetManagedFields()
	delete(trimmed.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
	if c.TrimOwn != nil {
		trimmed = c.TrimOwn(trimmed)
	}
	trimmed.SetManagedFields(nil)
	status.MarkForeign(trimmed, managers, c.ConditionTypes)
	if content, err := json.Marshal(trimmed); err != nil || len(content) > largestObject {
		return nil, tooLarge, errors.Join(err, fmt.Errorf("it has %d bytes, and at most %d are kept", len(content),
			largestObject))
	}
	return trimmed, "", nil
}

// byOwner is the index of rendered objects by source object.
const byOwner = "owner"

// transform trims rendered objects before they are cached, as the controller of their kind does.
// The label of the object names the kind. Only the name remains of an object without such a label.
func transform(scheme *runtime.Scheme, controllers []Controller) toolscache.TransformFunc {
	return func(o any) (any, error) {
		object, ok := o.(client.Object)
		if !ok { // a tombstone of a missed deletion
			return o, nil
		}
		gvk, err := apiutil.GVKForObject(object, scheme)
		switch {
		case runtime.IsNotRegisteredError(err): // already transformed
			return o, nil
		case err != nil:
			return nil, err
		}
		for _, c := range controllers {
			if trimmed := c.Trimmed(object, gvk); trimmed != nil {
				return trimmed, nil
			}
		}
		return nameOnly(object, gvk), nil
	}
}

// Trimmed returns the part of a rendered object that the controller uses. It may change the object.
// It returns nil if the object lacks the label of the kind, or the status does not depend on its
// type.
func (c Controller) Trimmed(object client.Object, gvk schema.GroupVersionKind) client.Object {
	child := c.Kind.Observes(gvk.GroupKind())
	switch {
	case object.GetLabels()[c.Kind.Label()] == "" || child == nil || child.GVK != gvk:
		return nil
	case c.Trim != nil:
		return c.Trim(object)
	}
	return trim(object, gvk, c.Kind.Label())
}

// ownersOf returns the keys of an object's owners: one for each label of a kind that it carries. The
// cache's own IndexField would take twice the memory, for an index of all namespaces.
func (o *objects) ownersOf(object any) (owners []string, _ error) {
	owned := object.(client.Object)
	labels := owned.GetLabels()
	for _, c := range o.controllers {
		if name := labels[c.Kind.Label()]; name != "" {
			owners = append(owners, ownerKey(owned.GetNamespace(), c.Kind.Label(), name))
		}
	}
	return owners, nil
}

func ownerKey(namespace, label, name string) string { return namespace + "/" + label + "=" + name }
