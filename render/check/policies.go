package check

import (
	"encoding/json"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/registry/rest"

	"example.com/gatehouse/render/check/apiserver"
	"example.com/gatehouse/render/check/policy"
	"example.com/gatehouse/render/object"
)

// Policies finds what the ValidatingAdmissionPolicies among objects have against the others,
// but for what comes of those that were written with errors. A position is where the user
// finds an object.
func (c *Checker) Policies(objects []object.Object, faulty map[*unstructured.Unstructured]bool, position func(object.Object) string) []object.Problem {
	return policy.Check(objects, faulty, &admitter{
		kinds:    c.kinds,
		versions: sync.OnceValue(c.servedVersions),
	}, position)
}

// admitter has what admission policies are shown of objects.
type admitter struct {
	kinds    customKinds
	versions func() runtime.EquivalentResourceRegistry
}

// servedVersions are those of all kinds that are known.
func (c *Checker) servedVersions() runtime.EquivalentResourceRegistry {
	versions := runtime.NewEquivalentResourceRegistry()
	for _, kind := range apiserver.All() {
		versions.RegisterKindFor(kind.Resource(), "", kind.GroupVersionKind)
	}
	for _, kind := range c.kinds {
		for _, version := range kind.definition.Spec.Versions {
			if version.Served && !kind.isConvertedByWebhook() {
				gvk := kindOf(kind.definition, version)
				versions.RegisterKindFor(kind.resource(gvk.Version), "", gvk)
			}
		}
	}
	return versions
}

// Kind returns what is known of a kind.
func (a *admitter) Kind(gvk schema.GroupVersionKind) policy.Kind {
	if builtin, ok := apiserver.Lookup(gvk); ok {
		return policy.Kind{Resource: builtin.Resource(), Namespaced: builtin.IsNamespaced(), IsDefined: true, Conversion: builtin.Conversion(a.versions())}
	}
	conversion := &admission.RuntimeObjectInterfaces{
		ObjectCreater:            unstructuredscheme.NewUnstructuredCreator(),
		ObjectConvertor:          sameContent{},
		EquivalentResourceMapper: a.versions(),
	}
	if custom, ok := a.kinds[gvk]; ok {
		return policy.Kind{Resource: custom.resource(gvk.Version), Namespaced: custom.strategy.NamespaceScoped(), IsDefined: true, Conversion: conversion}
	}
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	return policy.Kind{Resource: resource, Namespaced: true, Conversion: conversion}
}

// Admit returns a valid object as the API server shows it to admission policies, but for
// what only a cluster knows.
func (a *admitter) Admit(o object.Object) (*unstructured.Unstructured, error) {
	gvk := o.GroupVersionKind()
	if builtin, ok := apiserver.Lookup(gvk); ok {
		u := o.Unstructured
		if isSecret(u) {
			u = withoutEncryption(u)
			fillUnknownValues(u, o.Unstructured)
		}
		encoded, err := json.Marshal(u)
		if err != nil {
			return nil, err
		}
		return builtin.Admitted(encoded)
	}
	admitted := o.DeepCopy()
	if custom, ok := a.kinds[gvk]; ok {
		stored, _ := custom.defaulted(o)
		admitted = custom.created(stored)
	}
	rest.FillObjectMetaSystemFields(admitted)
	admitted.SetGeneration(1)
	return admitted, nil
}

func (k *customKind) resource(version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.definition.Spec.Group, Version: version, Resource: k.definition.Spec.Names.Plural}
}

// isConvertedByWebhook says whether only a program of the cluster converts objects to
// other versions.
func (k *customKind) isConvertedByWebhook() bool {
	conversion := k.definition.Spec.Conversion
	return conversion != nil && conversion.Strategy == apiextensions.WebhookConverter
}

// sameContent converts custom objects whose versions differ in nothing but the name.
type sameContent struct{ runtime.ObjectConvertor }

// Convert has out be in, but for the version, which whoever calls it sets.
func (sameContent) Convert(in, out, _ any) error {
	out.(*unstructured.Unstructured).Object = in.(*unstructured.Unstructured).DeepCopy().Object
	return nil
}
