package compare

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
)

// Uses has the users of ConfigMaps and Secrets: objects with Pods. The value is true if the Pods do not start without
// it.
type Uses map[manifest.ID]map[manifest.ID]bool

// usesOf returns the uses of ConfigMaps and Secrets by the objects of an environment.
func (both *Comparison) usesOf(s *Side) Uses {
	all := Uses{}
	for _, o := range s.Objects {
		templates := both.WrittenTemplates(o)
		if len(templates) == 0 {
			continue
		}
		user := both.Reported(o)
		for _, template := range templates {
			visitReferences(template["spec"], func(kind, name string, isRequired bool) {
				id := manifest.ID{Kind: kind, Namespace: NamespaceOf(o), Name: name}
				if all[id] == nil {
					all[id] = map[manifest.ID]bool{}
				}
				all[id][user] = all[id][user] || isRequired
			})
		}
	}
	return all
}

// visitReferences visits the references to ConfigMaps and Secrets in a part of a Pod spec: configMapRef,
// secretKeyRef, a projected configMap. It leaves out Secrets to pull images.
func visitReferences(content any, visit func(kind, name string, isRequired bool)) {
	decoding.Walk(content, func(path []string, value any) bool {
		key := strings.Join(path[max(0, len(path)-1):], "")
		fields, _ := value.(map[string]any)
		name, _ := fields["name"].(string)
		secretName, _ := fields["secretName"].(string)
		isOptional, _ := fields["optional"].(bool)
		switch name = cmp.Or(name, secretName); {
		case name != "" && strings.HasPrefix(key, "configMap"):
			visit("ConfigMap", name, !isOptional)
		case name != "" && strings.Contains(strings.ToLower(key), "secret"):
			visit("Secret", name, !isOptional)
		default:
			return true
		}
		return false
	})
}

// IsParameter reports whether an admission policy takes parameters from an object. An environment without
// the policy's bindings may use all objects of the kind.
func (both *Comparison) IsParameter(o *unstructured.Unstructured) bool {
	names := both.parameters[KindOf(o)]
	return names.Has("") || names.Has(o.GetName())
}

// parametersOf returns the names of the parameters of admission policies by their kinds, or the name "" for
// all of a kind.
func parametersOf(objects []*unstructured.Unstructured) map[string]sets.Set[string] {
	kinds := map[string]string{}
	names := map[string]sets.Set[string]{} // by policy
	for _, o := range objects {
		if o.GroupVersionKind().Group != "admissionregistration.k8s.io" {
			continue
		}
		if version, kind := Text(o, "spec", "paramKind", "apiVersion"),
			Text(o, "spec", "paramKind", "kind"); kind != "" {
			kinds[o.GetKind()+" "+o.GetName()] = schema.FromAPIVersionAndKind(version, kind).GroupKind().String()
		}
		if of, isBinding := strings.CutSuffix(o.GetKind(), "Binding"); isBinding {
			policy := of + " " + Text(o, "spec", "policyName")
			if names[policy] == nil {
				names[policy] = sets.Set[string]{}
			}
			if _, hasParameters, _ := unstructured.NestedMap(o.Object, "spec", "paramRef"); hasParameters {
				names[policy].Insert(Text(o, "spec", "paramRef", "name"))
			}
		}
	}
	all := map[string]sets.Set[string]{}
	for policy, kind := range kinds {
		if names[policy] == nil {
			names[policy] = sets.New("")
		}
		all[kind] = names[policy].Union(all[kind])
	}
	return all
}
