package policy

import (
	"errors"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/tools/cache"

	"example.com/gatehouse/render/manifest"
)

// params are the possible parameters of a policy: all objects of its paramKind.
type params struct {
	objects   cache.Indexer
	resource  schema.GroupResource
	scope     meta.RESTScope
	err       error // the kind is unknown
	isDefined bool  // the kind is built in or defined by the environment
}

func (e *evaluation) newParams(kind *admissionv1.ParamKind) params {
	gvk := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
	known := e.Kind(gvk)
	p := params{
		objects: cache.NewIndexer(cache.MetaNamespaceKeyFunc,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		resource:  known.Resource.GroupResource(),
		scope:     meta.RESTScopeRoot,
		isDefined: known.IsDefined,
	}
	namespaced := known.IsDefined && known.Namespaced
	for _, o := range e.objects {
		if o.GroupVersionKind().GroupKind() != gvk.GroupKind() {
			continue
		}
		namespaced = namespaced || !known.IsDefined && o.GetNamespace() != ""
		if param, err := e.inVersion(o, gvk); err == nil {
			_ = p.objects.Add(param) // fails only without metadata
		}
	}
	if namespaced {
		p.scope = meta.RESTScopeNamespace
	}
	if !known.IsDefined && len(p.objects.ListKeys()) == 0 {
		// the words of the API server
		p.err = errors.New("failed to find resource referenced by paramKind: '" + gvk.String() + "'")
	}
	return p
}

// inVersion converts an object, with its defaults, to a version of its kind.
func (e *evaluation) inVersion(o manifest.Object, gvk schema.GroupVersionKind) (runtime.Object, error) {
	admitted, err := e.Admit(o)
	if err != nil {
		return nil, err
	}
	return admission.ConvertToGVK(admitted, gvk, e.Kind(o.GroupVersionKind()).Conversion)
}

// Informer returns an informer that has synced.
func (p params) Informer() cache.SharedIndexInformer { return synced{} }

// Lister returns a lister of the parameters.
func (p params) Lister() cache.GenericLister { return cache.NewGenericLister(p.objects, p.resource) }

// synced is an informer that is always synced.
type synced struct{ cache.SharedIndexInformer }

// HasSynced returns true.
func (synced) HasSynced() bool { return true }
