// Package rbac makes the roles of the controllers of kinds. They may read the source objects and the
// children that a status depends on, and write that status.
package rbac

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
)

// Name is the name of the roles, and Namespace the namespace of the controller.
const (
	Name      = "gatehouse-controller"
	Namespace = "gatehouse-system"
)

// ClusterRole returns the rights of the controllers in all namespaces.
func ClusterRole(kinds *registry.Kinds) *rbacv1.ClusterRole {
	r := rights{}
	// The API server decides about each request for metrics.
	r.allow("authentication.k8s.io", "tokenreviews", "create")
	r.allow("authorization.k8s.io", "subjectaccessreviews", "create")
	r.allow("events.k8s.io", "events", "create", "patch")
	for i := range kinds.All {
		k := &kinds.All[i]
		r.allow(k.GVK().Group, k.Plural(), read...)
		r.allow(k.GVK().Group, k.Plural()+"/status", "patch")
		for _, child := range k.Children() {
			if !child.Unobserved {
				r.allow(child.GVK.Group, cmp.Or(child.Resource, resource(child.GVK.Kind)), read...)
			}
		}
		if k.Gate() != "" {
			r.allow("", "pods", "patch")
		}
	}
	return &rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Rules:      r.rules(),
	}
}

// Role returns the rights of the controllers in their own namespace, for leader election.
func Role() *rbacv1.Role {
	r := rights{}
	r.allow("coordination.k8s.io", "leases", "create", "get", "update")
	r.allow("", "events", "create", "patch")
	return &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Name},
		Rules:      r.rules(),
	}
}

// Manifest returns both roles in YAML.
func Manifest(kinds *registry.Kinds) ([]byte, error) {
	var manifest bytes.Buffer
	for _, role := range []any{ClusterRole(kinds), Role()} {
		document, err := yaml.Marshal(role)
		if err != nil {
			return nil, err
		}
		manifest.WriteString("---\n")
		manifest.Write(document)
	}
	return manifest.Bytes(), nil
}

// resource returns the regular plural of a kind in the API.
func resource(name string) string {
	if name == "Endpoints" {
		return "endpoints"
	}
	return kind.Plural(strings.ToLower(name))
}

var read = []string{"get", "list", "watch"}

// rights are the allowed verbs by resource.
type rights map[schema.GroupResource][]string

func (r rights) allow(group, resource string, verbs ...string) {
	key := schema.GroupResource{Group: group, Resource: resource}
	r[key] = append(r[key], verbs...)
}

// rules returns a sorted rule for each resource.
func (r rights) rules() (rules []rbacv1.PolicyRule) {
	byGroup := func(a, b schema.GroupResource) int {
		return slices.Compare([]string{a.Group, a.Resource}, []string{b.Group, b.Resource})
	}
	for _, key := range slices.SortedFunc(maps.Keys(r), byGroup) {
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{key.Group},
			Resources: []string{key.Resource},
			Verbs:     slices.Compact(slices.Sorted(slices.Values(r[key]))),
		})
	}
	return rules
}
