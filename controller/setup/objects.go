package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"example.com/gatehouse/controller/status"
)

// objects is a cache of the objects that people write. It holds them as plain JSON, and
// gives them out as their Go types. No Go client decodes a list of which it cannot decode
// one object: here that one is left out, and the others are served.
type objects struct {
	cache.Cache
	scheme *runtime.Scheme
	kinds  map[schema.GroupVersionKind]bool
}

// largestObject is how many bytes of JSON the cache takes of one object, trimmed.
const largestObject = 128 << 10

// NewCache returns what creates the cache of a manager.
func NewCache(controllers []Controller) cache.NewCacheFunc {
	return func(config *rest.Config, options cache.Options) (cache.Cache, error) {
		o := &objects{scheme: options.Scheme, kinds: map[schema.GroupVersionKind]bool{}}
		options.ByObject = map[client.Object]cache.ByObject{}
		for _, c := range controllers {
			o.kinds[c.Kind.GVK] = true
			options.ByObject[untyped(c.Kind.GVK)] = cache.ByObject{Transform: c.transform}
		}
		var err error
		o.Cache, err = cache.New(config, options)
		return o, err
	}
}

// Get implements client.Reader. An object that is left out is not found.
func (o *objects) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	gvk, ok := o.isTyped(object)
	if !ok {
		return o.Cache.Get(ctx, key, object, options...)
	}
	u := untyped(gvk)
	if err := o.Cache.Get(ctx, key, u, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return err
	}
	if leftOut(u) != "" {
		return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, object)
}

// List implements client.Reader.
func (o *objects) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	gvk, ok := o.isTyped(list)
	if !ok {
		return o.Cache.List(ctx, list, options...)
	}
	var all unstructured.UnstructuredList
	all.SetGroupVersionKind(gvk)
	if err := o.Cache.List(ctx, &all, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return err
	}
	var typed []runtime.Object
	for i := range all.Items {
		if leftOut(&all.Items[i]) != "" {
			continue
		}
		object, err := o.scheme.New(all.Items[i].GroupVersionKind())
		if err != nil {
			return err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(all.Items[i].Object, object); err != nil {
			return err
		}
		typed = append(typed, object)
	}
	return meta.SetList(list, typed)
}

// GetInformer implements cache.Informers.
func (o *objects) GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	if gvk, ok := o.isTyped(object); ok {
		object = untyped(gvk)
	}
	return o.Cache.GetInformer(ctx, object, options...)
}

// isTyped reports whether an object or a list is of the Go type of a kind that people
// write, and returns that of the one or the other.
func (o *objects) isTyped(object runtime.Object) (schema.GroupVersionKind, bool) {
	if _, ok := object.(runtime.Unstructured); ok {
		return schema.GroupVersionKind{}, false
	}
	gvk, err := apiutil.GVKForObject(object, o.scheme)
	if err != nil {
		return gvk, false
	}
	single := gvk
	if _, ok := object.(client.ObjectList); ok {
		single.Kind = gvk.Kind[:len(gvk.Kind)-len("List")]
	}
	return gvk, o.kinds[single]
}

func untyped(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}

// transform returns what is cached of an object of the controller's kind. A client may
// transform what it listed twice.
func (c Controller) transform(object any) (any, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok { // it tells of a deletion that was missed
		return object, nil
	}
	if _, ok := u.Object[leftOutKey]; ok {
		return u, nil
	}
	trimmed, reason, err := c.trimOwn(u)
	if err != nil {
		ctrl.Log.WithName("cache").Error(err, "Left out an object: its status is not kept", "kind", c.Kind.GVK.Kind,
			"namespace", u.GetNamespace(), "name", u.GetName())
		trimmed = nameOnly(u, c.Kind.GVK).(*unstructured.Unstructured)
	}
	trimmed.Object[leftOutKey] = reason
	return trimmed, nil
}

// leftOutKey is a key of every object of the cache, and of none of the API server. Its value
// is why the object is left out: of such a one there is only what identifies it.
const leftOutKey = "gatehouse.example.com/left-out"

// The reasons for which an object is left out.
const (
	undecodable = "Undecodable"
	tooLarge    = "TooLarge"
)

// trimOwn returns what is used of an object of the controller's kind, or why it is left out.
func (c Controller) trimOwn(u *unstructured.Unstructured) (trimmed *unstructured.Unstructured, reason string, err error) {
	typed := c.Kind.New()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed); err != nil {
		return nil, undecodable, fmt.Errorf("decode: %w", err)
	}
	typed.SetManagedFields(nil)
	delete(typed.GetAnnotations(), "kubectl.kubernetes.io/last-applied-configuration")
	if c.TrimOwn != nil {
		c.TrimOwn(typed)
	}
	trimmed = untyped(c.Kind.GVK)
	if trimmed.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(typed); err != nil {
		return nil, undecodable, fmt.Errorf("encode: %w", err)
	}
	trimmed.SetGroupVersionKind(c.Kind.GVK)
	if content, err := json.Marshal(trimmed.Object); err != nil || len(content) > largestObject {
		return nil, tooLarge, errors.Join(err, fmt.Errorf("it has %d bytes, and at most %d are kept", len(content), largestObject))
	}
	return trimmed, "", nil
}

// leftOut returns why an object of the cache is left out; empty where it is not.
func leftOut(u *unstructured.Unstructured) string {
	reason, _ := u.Object[leftOutKey].(string)
	return reason
}

// leftOutGauge counts the objects of a controller's kind that are left out.
func (c Controller) leftOutGauge(all client.Reader) status.Gauge {
	desc := prometheus.NewDesc("gatehouse_left_out", "Objects that cannot be decoded or are too large, and are not served.",
		[]string{"reason"}, prometheus.Labels{"kind": c.Kind.GVK.Kind})
	return status.Gauge{Desc: desc, Count: func(ctx context.Context) (map[string]int, error) {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(c.Kind.GVK)
		if err := all.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		counts := map[string]int{undecodable: 0, tooLarge: 0}
		for i := range list.Items {
			if reason := leftOut(&list.Items[i]); reason != "" {
				counts[reason]++
			}
		}
		return counts, nil
	}}
}
