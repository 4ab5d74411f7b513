package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// objects is a cache of source objects and rendered objects. A Go client decodes a list entirely or
// not at all. This cache reads source objects as plain JSON and decodes each by itself, so that one
// undecodable object is left out and all others are served.
type objects struct {
	cache.Cache
	scheme      *runtime.Scheme
	controllers []Controller

	mu sync.Mutex
	// informers are the informers of each kind of source objects, one per watched namespace.
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
			o.informers[c.Kind.GVK()] = nil
			group, singular := c.Kind.GVK().GroupVersion(), strings.ToLower(c.Kind.GVK().Kind)
			known.AddSpecific(c.Kind.GVK(), group.WithResource(c.Kind.Plural()), group.WithResource(singular),
				meta.RESTScopeNamespace)
			options.ByObject[untyped(c.Kind.GVK())] = cache.ByObject{Label: labels.Everything(), Transform: c.transform}
		}
		options.NewInformer = o.newInformer
		o.Cache, err = cache.New(config, options)
		return o, err
	}
}

// newInformer returns a new informer, and records it if it is for source objects.
func (o *objects) newInformer(source toolscache.ListerWatcher, object runtime.Object, resync time.Duration,
	indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	indexers["field:"+byOwner] = o.ownersOf
	informer := toolscache.NewSharedIndexInformer(source, object, resync, indexers)
	o.mu.Lock()
	defer o.mu.Unlock()
	gvk := object.GetObjectKind().GroupVersionKind()
	if _, ok := o.informers[gvk]; ok {
		o.informers[gvk] = append(o.informers[gvk], informer)
	}
	return informer
}

// Get implements client.Reader. An object that is left out is not found.
func (o *objects) Get(ctx context.Context, key client.ObjectKey, object client.Object,
	options ...client.GetOption) error {
	gvk, ok := o.kindOf(object)
	if !ok {
		return o.Cache.Get(ctx, key, object, options...)
	}
	informers, err := o.syncedInformers(ctx, gvk)
	if err != nil {
		return err
	}
	for _, informer := range informers {
		cached, ok, err := informer.GetIndexer().GetByKey(toolscache.NewObjectName(key.Namespace, key.Name).String())
		if _, isLeftOut := cached.(*leftOut); err != nil || !ok || isLeftOut {
			continue
		}
		reflect.ValueOf(object).Elem().Set(reflect.ValueOf(cached.(runtime.Object).DeepCopyObject()).Elem())
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
}

// List implements client.Reader. For a kind of source objects it ignores the options and lists all.
// Callers must not change them.
func (o *objects) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	gvk, ok := o.kindOf(list)
	if !ok {
		return o.Cache.List(ctx, list, options...)
	}
	all, _, err := o.all(ctx, gvk)
	return errors.Join(err, meta.SetList(list, all))
}

// GetInformer implements cache.Informers.
func (o *objects) GetInformer(ctx context.Context, object client.Object,
	options ...cache.InformerGetOption) (cache.Informer, error) {
	if gvk, ok := o.kindOf(object); ok {
		object = untyped(gvk)
	}
	return o.Cache.GetInformer(ctx, object, options...)
}

// kindOf returns the kind of a source object or of a list of source objects.
func (o *objects) kindOf(object runtime.Object) (_ schema.GroupVersionKind, ok bool) {
	gvk, err := apiutil.GVKForObject(object, o.scheme)
	if err != nil {
		return gvk, false
	}
	if _, ok := object.(client.ObjectList); ok {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok = o.informers[gvk]
	return gvk, ok
}

// syncedInformers returns the informers of a kind once they have all objects.
func (o *objects) syncedInformers(ctx context.Context,
	gvk schema.GroupVersionKind) ([]toolscache.SharedIndexInformer, error) {
	if _, err := o.Cache.GetInformer(ctx, untyped(gvk)); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.informers[gvk], nil
}

// all returns the served objects of a kind, and the objects that are left out.
func (o *objects) all(ctx context.Context, gvk schema.GroupVersionKind) (all []runtime.Object, left []*leftOut,
	err error) {
	informers, err := o.syncedInformers(ctx, gvk)
	for _, informer := range informers {
		for _, cached := range informer.GetIndexer().List() {
			if l, ok := cached.(*leftOut); ok {
				left = append(left, l)
			} else {
				all = append(all, cached.(runtime.Object))
			}
		}
	}
	return all, left, err
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

// trimOwn decodes an object of the controller's kind and removes its unused fields. The error and
// its reason explain an object that is left out.
func (c Controller) trimOwn(u *unstructured.Unstructured) (trimmed client.Object, reason string, err error) {
	trimmed = c.Kind.New()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, trimmed); err != nil {
		return nil, undecodable, fmt.Errorf("decode: %w", err)
	}
	managers := trimmed.GetManagedFields()
	delete(trimmed.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
	if c.TrimOwn != nil {
		c.TrimOwn(trimmed)
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

// ownersOf returns the owners of an object with its namespace: each label of a kind that it carries.
// The cache's own IndexField would take twice the memory, for an index of all namespaces.
func (o *objects) ownersOf(object any) (owners []string, _ error) {
	labels, namespace := object.(client.Object).GetLabels(), object.(client.Object).GetNamespace()
	for _, c := range o.controllers {
		if name := labels[c.Kind.Label()]; name != "" {
			owners = append(owners, namespace+"/"+owner(c.Kind.Label(), name))
		}
	}
	return owners, nil
}

func owner(label, name string) string { return label + "=" + name }
