package verdict

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/registry/rest"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/verdict/policy"
	"example.com/gatehouse/render/verdict/secret"
)

// serviceAccount matches the user name of a service account in an expression.
var serviceAccount = regexp.MustCompile(`\bsystem:serviceaccount:[a-z0-9-]+:[a-z0-9.-]+`)

// policyUsers returns the problems of policies on gates whose expressions name a service account other
// than the controller's. kustomize does not rename users in expressions, and such a policy would
// neither restrict the controller nor let it open gates.
func (c *Checker) policyUsers(objects []manifest.Object, isController func(manifest.Object) bool) (problems []manifest.Problem) {
	for _, controller := range objects {
		if !isController(controller) {
			continue
		}
		user := userOf(controller)
		for _, o := range objects {
			for field, expression := range c.gateExpressions(o) {
				named := serviceAccount.FindAllString(expression, -1)
				if len(named) == 0 || slices.Contains(named, user) {
					continue
				}
				problems = append(problems, manifest.NewProblem(o, field, manifest.Value{Is: expression}, fmt.Sprintf(
					"%s: names %s, but %s runs as %s: write that, here or by a JSON patch (namespace: and namePrefix: change no expression), or leave the controller its namespace and name, and write namespace: in the kustomization of a folder beside it",
					field, named[0], controller, user)))
			}
		}
	}
	return problems
}

// userOf returns the user name of a workload's Pods.
func userOf(workload manifest.Object) string {
	field := func(name string) string {
		value, _, _ := unstructured.NestedString(workload.Object, "spec", "template", "spec", name)
		return value
	}
	return serviceaccount.MakeUsername(workload.NamespaceOrDefault(), cmp.Or(field("serviceAccountName"), field("serviceAccount"), "default"))
}

// gateExpressions returns the expressions of a ValidatingAdmissionPolicy on the gate of a kind, by
// field; nil for any other object.
func (c *Checker) gateExpressions(o manifest.Object) map[string]string {
	if o.GetKind() != "ValidatingAdmissionPolicy" {
		return nil
	}
	text, _ := json.Marshal(o.Object)
	if !slices.ContainsFunc(c.kinds.Gates(), func(gate string) bool { return strings.Contains(string(text), gate) }) {
		return nil
	}
	expressions := map[string]string{}
	for _, list := range []string{"matchConditions", "variables", "validations"} {
		items, _, _ := unstructured.NestedSlice(o.Object, "spec", list)
		for i, item := range items {
			fields, _ := item.(map[string]any)
			expressions[fmt.Sprintf("spec.%s[%d].expression", list, i)], _ = fields["expression"].(string)
		}
	}
	return expressions
}

// admitter is a Checker as admission policies use it.
type admitter struct {
	*Checker
	versions func() runtime.EquivalentResourceRegistry
}

// servedVersions returns the versions of all kinds.
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
	if builtin, ok := a.kubernetes.Lookup(gvk); ok {
		return policy.Kind{Resource: builtin.Resource(), Namespaced: builtin.IsNamespaced(), IsDefined: true, Conversion: apiserver.Conversion(a.versions())}
	}
	conversion := &admission.RuntimeObjectInterfaces{
		ObjectCreater:            unstructuredscheme.NewUnstructuredCreator(),
		ObjectConvertor:          sameContent{},
		EquivalentResourceMapper: a.versions(),
	}
	if custom, ok := a.custom[gvk]; ok {
		return policy.Kind{Resource: custom.resource(gvk.Version), Namespaced: isNamespaced(custom.definition), IsDefined: true, Conversion: conversion}
	}
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	return policy.Kind{Resource: resource, Namespaced: true, Conversion: conversion}
}

// Admit returns a valid object as policies of the API server see it, without data of the cluster.
func (a *admitter) Admit(o manifest.Object) (*unstructured.Unstructured, error) {
	gvk := o.GroupVersionKind()
	if builtin, ok := a.kubernetes.Lookup(gvk); ok {
		return builtin.Admitted(secret.Decrypted(o.Unstructured).Object)
	}
	admitted := o.DeepCopy()
	if custom, ok := a.custom[gvk]; ok {
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
