package verdict

import (
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/registry/rest"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/verdict/apply"
	"example.com/gatehouse/render/verdict/policy"
	"example.com/gatehouse/render/verdict/secret"
)

// admitter is a Checker as admission policies use it.
type admitter struct {
	*Checker
	versions func() runtime.EquivalentResourceRegistry
}

func (c *Checker) admitter() *admitter {
	return &admitter{Checker: c, versions: sync.OnceValue(c.servedVersions)}
}

func (c *Checker) servedVersions() runtime.EquivalentResourceRegistry {
	versions := runtime.NewEquivalentResourceRegistry()
	for _, kind := range c.kubernetes.Kinds() {
		versions.RegisterKindFor(kind.Resource(), "", kind.GroupVersionKind)
	}
	for _, kind := range c.custom {
		for _, version := range kind.definition.Spec.Versions {
			if version.Served && !kind.isConvertedByWebhook() {
				gvk := kindOf(kind.definition, version)
				versions.RegisterKindFor(kind.resource(gvk.Version), "", gvk)
			}
		}
	}
	return versions
}

// Kind returns a kind; a guess if it is unknown.
func (a *admitter) Kind(gvk schema.GroupVersionKind) policy.Kind {
	if builtin, ok := a.lookup(gvk); ok {
		return policy.Kind{Resource: builtin.Resource(), Namespaced: builtin.IsNamespaced(), IsDefined: true,
			Conversion: apiserver.Conversion(a.versions()), Types: apply.BuiltinTypes}
	}
	conversion := &admission.RuntimeObjectInterfaces{
		ObjectCreater:            unstructuredscheme.NewUnstructuredCreator(),
		ObjectTyper:              unstructuredscheme.NewUnstructuredObjectTyper(),
		ObjectConvertor:          sameContent{},
		EquivalentResourceMapper: a.versions(),
	}
	if custom, ok := a.custom[gvk]; ok {
		conversion.ObjectDefaulter = custom
		return policy.Kind{Resource: custom.resource(gvk.Version), Namespaced: isNamespaced(custom.definition),
			IsDefined: true, Conversion: conversion, Types: custom.types}
	}
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	return policy.Kind{Resource: resource, Namespaced: true, Conversion: conversion}
}

// Admit returns a valid object as policies of the API server see it, without data of the cluster.
func (a *admitter) Admit(o manifest.Object) (*unstructured.Unstructured, error) {
	gvk := o.GroupVersionKind()
	if builtin, ok := a.lookup(gvk); ok {
		return builtin.Admitted(secret.Decrypted(o.Unstructured).Object)
	}
	admitted := o.DeepCopy()
	if custom, ok := a.custom[gvk]; ok {
		stored, _ := custom.defaulted(o)
		admitted = custom.created(stored)
	}
	rest.WipeObjectMetaSystemFields(admitted)
	rest.FillObjectMetaSystemFields(admitted)
	admitted.SetGeneration(1)
	return admitted, nil
}

// Mutable returns a valid object as mutating policies of the API server see it, without data of the cluster.
func (a *admitter) Mutable(o manifest.Object) (runtime.Object, error) {
	gvk := o.GroupVersionKind()
	if builtin, ok := a.lookup(gvk); ok {
		return builtin.Mutable(secret.Decrypted(o.Unstructured).Object)
	}
	if custom, ok := a.custom[gvk]; ok {
		stored, _ := custom.defaulted(o)
		return stored, nil
	}
	return o.DeepCopy(), nil
}

// Default sets the defaults of an object.
func (k *customKind) Default(o runtime.Object) {
	defaulting.Default(o.(*unstructured.Unstructured).Object, k.compiled().structural)
}

// typesOf returns the types of a kind by the schema that the API server publishes; nil if it publishes none.
func typesOf(definition *apiextensions.CustomResourceDefinition, version string) managedfields.TypeConverter {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(definition, crd,
		nil) != nil {
		return nil
	}
	published, err := builder.BuildOpenAPIV3(crd, version, builder.Options{})
	if err != nil {
		return nil
	}
	types, err := managedfields.NewTypeConverter(published.Components.Schemas, false)
	if err != nil {
		return nil
	}
	return types
}

func (k *customKind) resource(version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.definition.Spec.Group, Version: version,
		Resource: k.definition.Spec.Names.Plural}
}

// isConvertedByWebhook reports whether only the cluster can convert objects to other versions.
func (k *customKind) isConvertedByWebhook() bool {
	conversion := k.definition.Spec.Conversion
	return conversion != nil && conversion.Strategy == apiextensions.WebhookConverter
}

// sameContent converts custom objects without a webhook: only the version changes.
type sameContent struct{ runtime.ObjectConvertor }

// Convert copies in to out. The caller sets the version.
func (sameContent) Convert(in, out, _ any) error {
	out.(*unstructured.Unstructured).Object = in.(*unstructured.Unstructured).DeepCopy().Object
	return nil
}
