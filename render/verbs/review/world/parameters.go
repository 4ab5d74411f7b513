package world

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// IsParameter reports whether an admission policy takes parameters from an object. An environment without
// the policy's bindings may use all objects of the kind.
func (w *World) IsParameter(o *unstructured.Unstructured) bool {
	names := w.parameters[KindOf(o)]
	return names.Has("") || names.Has(o.GetName())
}

// parametersOf returns the names of the parameters of admission policies by their kinds, or the name "" for
// all of a kind.
func parametersOf(objects []*unstructured.Unstructured) map[string]sets.Set[string] {
	bound := map[string]sets.Set[string]{} // by policy
	for _, o := range objects {
		if o.GroupVersionKind().Group == "admissionregistration.k8s.io" && strings.HasSuffix(o.GetKind(), "PolicyBinding") {
			id := strings.TrimSuffix(o.GetKind(), "Binding") + " " + Text(o, "spec", "policyName")
			if bound[id] == nil {
				bound[id] = sets.Set[string]{}
			}
			if _, ok, _ := unstructured.NestedMap(o.Object, "spec", "paramRef"); ok {
				bound[id].Insert(Text(o, "spec", "paramRef", "name"))
			}
		}
	}
	all := map[string]sets.Set[string]{}
	for _, o := range objects {
		version, name := Text(o, "spec", "paramKind", "apiVersion"), Text(o, "spec", "paramKind", "kind")
		if o.GroupVersionKind().Group != "admissionregistration.k8s.io" || name == "" {
			continue
		}
		names, ok := bound[o.GetKind()+" "+o.GetName()]
		if !ok {
			names = sets.New("")
		}
		key := schema.FromAPIVersionAndKind(version, name).GroupKind().String()
		all[key] = names.Union(all[key])
	}
	return all
}
