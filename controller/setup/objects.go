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

// objects is a cache of the objects that people write, and of what is rendered from them. No Go
// client decodes a list of which it cannot decode one object: what people write is read as plain
// JSON and decoded one by one, so that such an object is left out and the others are served.
type objects struct {
	cache.Cache
	scheme *runtime.Scheme

	mu sync.Mutex
	// informers are those of each kind that people write, one for each namespace that is watched.
	informers map[schema.GroupVersionKind][]toolscache.SharedIndexInformer
}

// largestObject is how many bytes of JSON the cache takes of one object, trimmed.
const largestObject = 128 << 10

// NewCache returns what creates the cache of a manager. Of types that nobody writes it has only
// what is rendered.
func NewCache(controllers []Controller) cache.NewCacheFunc {
	return func(config *rest.Config, options cache.Options) (_ cache.Cache, err error) {
		o := &objects{scheme: options.Scheme, informers: map[schema.GroupVersionKind][]toolscache.SharedIndexInformer{}}
		options.DefaultLabelSelector = labels.SelectorFromSet(labels.Set{kind.ManagedByLabel: kind.ManagedBy})
		options.DefaultTransform = transform(options.Scheme, controllers)
		options.ByObject = map[client.Object]cache.ByObject{}
		// Of a kind the mapper is asked at once, and the cluster may not know the kind yet.
		known := meta.NewDefaultRESTMapper(nil)
		options.Mapper = meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{known, options.Mapper}}
		for _, c := range controllers {
			o.informers[c.Kind.GVK()] = nil
			group, singular := c.Kind.GVK().GroupVersion(), strings.ToLower(c.Kind.GVK().Kind)
			known.AddSpecific(c.Kind.GVK(), group.WithResource(c.Kind.Plural()), group.WithResource(singular), meta.RESTScopeNamespace)
			options.ByObject[untyped(c.Kind.GVK())] = cache.ByObject{Label: labels.Everything(), Transform: c.transform}
		}
		options.NewInformer = o.newInformer
		o.Cache, err = cache.New(config, options)
		return o, err
	}
}

// newInformer returns a new informer, and keeps that of a kind.
func (o *objects) newInformer(source toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
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
func (o *objects) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	gvk, ok := o.kindOf(object)
	if !ok {
		return o.Cache.Get(ctx, key, object, options...)
	}
	informers, err := o.filled(ctx, gvk)
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

// List implements client.Reader. Of a kind it lists all objects, which must not be changed.
func (o *objects) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	gvk, ok := o.kindOf(list)
	if !ok {
		return o.Cache.List(ctx, list, options...)
	}
	all, _, err := o.all(ctx, gvk)
	return errors.Join(err, meta.SetList(list, all))
}

// GetInformer implements cache.Informers.
func (o *objects) GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	if gvk, ok := o.kindOf(object); ok {
		object = untyped(gvk)
	}
	return o.Cache.GetInformer(ctx, object, options...)
}

// kindOf returns the kind of an object or a list of the Go type of a kind that people write.
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

// filled returns the informers of a kind once they have all objects.
func (o *objects) filled(ctx context.Context, gvk schema.GroupVersionKind) ([]toolscache.SharedIndexInformer, error) {
	if _, err := o.Cache.GetInformer(ctx, untyped(gvk)); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.informers[gvk], nil
}

// all returns the objects of a kind, and those that are left out.
func (o *objects) all(ctx context.Context, gvk schema.GroupVersionKind) (all []runtime.Object, left []*leftOut, err error) {
	informers, err := o.filled(ctx, gvk)
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

// transform returns what is cached of an object of the controller's kind.
func (c Controller) transform(object any) (any, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok { // it is transformed already, or tells of a deletion that was missed
		return object, nil
	}
	trimmed, reason, err := c.trimOwn(u)
	if err == nil {
		return trimmed, nil
	}
	ctrl.Log.WithName("cache").Error(err, "Left out an object: its status is not kept", "kind", c.Kind.GVK().Kind,
		"namespace", u.GetNamespace(), "name", u.GetName())
	left := &leftOut{kind: c.Kind.GVK(), reason: reason, message: err.Error()}
	left.Namespace, left.Name, left.UID, left.ResourceVersion = u.GetNamespace(), u.GetName(), u.GetUID(), u.GetResourceVersion()
	return left, nil
}

// trimOwn returns what is used of an object of the controller's kind, or why it is left out.
func (c Controller) trimOwn(u *unstructured.Unstructured) (trimmed client.Object, reason string, err error) {
	trimmed = c.Kind.New()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, trimmed); err != nil {
		return nil, undecodable, fmt.Errorf("decode: %w", err)
	}
	managers := trimmed.GetManagedFields()
	trimmed.SetManagedFields(nil)
	delete(trimmed.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
	if c.TrimOwn != nil {
		c.TrimOwn(trimmed)
	}
	status.MarkForeign(trimmed, managers, c.ConditionTypes)
	if content, err := json.Marshal(trimmed); err != nil || len(content) > largestObject {
		return nil, tooLarge, errors.Join(err, fmt.Errorf("it has %d bytes, and at most %d are kept", len(content), largestObject))
	}
	return trimmed, "", nil
}
