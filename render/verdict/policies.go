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
)

// serviceAccount matches the user that a service account is, in an expression.
var serviceAccount = regexp.MustCompile(`\bsystem:serviceaccount:[a-z0-9-]+:[a-z0-9.-]+`)

// policyUsers finds the expressions of policies on the gates of kinds that name another service
// account than that of the controller: kustomize renames no user in an expression, and such a
// policy would no longer hold the controller, or let it alone open gates.
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

// userOf returns the user that the Pods of a workload are to the API server.
func userOf(workload manifest.Object) string {
	field := func(name string) string {
		value, _, _ := unstructured.NestedString(workload.Object, "spec", "template", "spec", name)
		return value
	}
	return serviceaccount.MakeUsername(workload.NamespaceOrDefault(), cmp.Or(field("serviceAccountName"), field("serviceAccount"), "default"))
}

// gateExpressions returns the expressions of a ValidatingAdmissionPolicy on the gate of a kind
// by their fields; nil for any other object.
func (c *Checker) gateExpressions(o manifest.Object) map[string]string {
	if o.GetKind() != "ValidatingAdmissionPolicy" {
		return nil
	}
	text, _ := json.Marshal(o.Object)
	if !slices.ContainsFunc(c.written.Gates(), func(gate string) bool { return strings.Contains(string(text), gate) }) {
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

// admitter shows objects to admission policies.
type admitter struct {
	*Checker
	versions func() runtime.EquivalentResourceRegistry
}

// servedVersions returns the versions of all known kinds.
func (c *Checker) servedVersions() runtime.EquivalentResourceRegistry {
	versions := runtime.NewEquivalentResourceRegistry()
	for _, kind := range c.kubernetes.Kinds() {
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
	if builtin, ok := a.kubernetes.Lookup(gvk); ok {
		return policy.Kind{Resource: builtin.Resource(), Namespaced: builtin.IsNamespaced(), IsDefined: true, Conversion: apiserver.Conversion(a.versions())}
	}
	conversion := &admission.RuntimeObjectInterfaces{
		ObjectCreater:            unstructuredscheme.NewUnstructuredCreator(),
		ObjectConvertor:          sameContent{},
		EquivalentResourceMapper: a.versions(),
	}
	if custom, ok := a.kinds[gvk]; ok {
		return policy.Kind{Resource: custom.resource(gvk.Version), Namespaced: isNamespaced(custom.definition), IsDefined: true, Conversion: conversion}
	}
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	return policy.Kind{Resource: resource, Namespaced: true, Conversion: conversion}
}

// Admit returns a valid object as the API server shows it to admission policies, but for
// what only a cluster knows.
func (a *admitter) Admit(o manifest.Object) (*unstructured.Unstructured, error) {
	gvk := o.GroupVersionKind()
	if builtin, ok := a.kubernetes.Lookup(gvk); ok {
		return builtin.Admitted(decrypted(o.Unstructured).Object)
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

// isConvertedByWebhook reports whether only a program of the cluster converts objects to
// other versions.
func (k *customKind) isConvertedByWebhook() bool {
	conversion := k.definition.Spec.Conversion
	return conversion != nil && conversion.Strategy == apiextensions.WebhookConverter
}

// sameContent converts custom objects whose versions differ in nothing but the name.
type sameContent struct{ runtime.ObjectConvertor }

// Convert copies in to out, but for the version, which the caller sets.
func (sameContent) Convert(in, out, _ any) error {
	out.(*unstructured.Unstructured).Object = in.(*unstructured.Unstructured).DeepCopy().Object
	return nil
}
