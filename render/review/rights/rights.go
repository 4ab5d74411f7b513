// Package rights answers: who may do more after a change, by RBAC, by another ServiceAccount, or by a role in a
// cloud? TestGrantedRightsAreThoseOfTheAuthorizer proves it against the authorizer of Kubernetes.
//
// It reads a Role as a ClusterRole, and a RoleBinding as a ClusterRoleBinding: their fields are equal.
package rights

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/selector"
)

// rights are the roles of a side and their bindings, with the defaults of every cluster.
type rights struct {
	roles        map[manifest.ID]*ruleSet
	clusterRoles []*ruleSet
	grants       map[rbacv1.Subject][]grant
	accounts     map[rbacv1.Subject]*unstructured.Unstructured // of the environment
	budget       *selector.Budget
}

// ruleSet is a role with its rules.
type ruleSet struct {
	in        *rights
	id        manifest.ID
	labels    labels.Set
	rules     []rbacv1.PolicyRule
	selectors []selector.Selector // of aggregated roles
	isBound   bool

	members   []*ruleSet // cache of closure
	all       []keyedRule
	isPartial bool // the budget was not enough for all members and rules
}

// keyedRule is a rule with a key that is equal for equal rules.
type keyedRule struct {
	rbacv1.PolicyRule
	key string
}

// grant is a role that a binding gives to a subject.
type grant struct {
	binding, role manifest.ID
	scope         string   // the namespace of the binding, or empty for the whole cluster
	rules         *ruleSet // nil for an unknown role
}

// rbacObjects are roles and bindings with their kinds and, if they are namespaced, their namespaces.
type rbacObjects struct {
	roles    []rbacv1.ClusterRole
	bindings []rbacv1.ClusterRoleBinding
	accounts map[rbacv1.Subject]*unstructured.Unstructured
}

// builtIn returns the roles and bindings that the API server creates in every cluster.
var builtIn = sync.OnceValue(func() (all rbacObjects) {
	all.roles = slices.Concat(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles())
	all.bindings = slices.Concat(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings())
	for i := range all.roles {
		all.roles[i].Kind = "ClusterRole"
	}
	for _, roles := range bootstrappolicy.NamespaceRoles() {
		for _, r := range roles {
			all.roles = append(all.roles, rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{Kind: "Role"},
				ObjectMeta: r.ObjectMeta, Rules: r.Rules})
		}
	}
	for _, bindings := range bootstrappolicy.NamespaceRoleBindings() {
		for _, b := range bindings {
			all.bindings = append(all.bindings, rbacv1.ClusterRoleBinding{ObjectMeta: b.ObjectMeta,
				Subjects: b.Subjects, RoleRef: b.RoleRef})
		}
	}
	return all
})

// readRBAC returns the roles, bindings and ServiceAccounts among objects.
func readRBAC(objects []*unstructured.Unstructured) (all rbacObjects) {
	all.accounts = map[rbacv1.Subject]*unstructured.Unstructured{}
	for _, o := range objects {
		id, ok := rbacIDOf(o)
		switch {
		case compare.KindOf(o) == "ServiceAccount":
			all.accounts[account(compare.NamespaceOf(o), o.GetName())] = o
		case !ok:
		case strings.HasSuffix(id.Kind, "Binding"):
			b := manifest.As[rbacv1.ClusterRoleBinding](o)
			b.Kind = id.Kind
			b.Namespace = id.Namespace
			b.Name = id.Name
			all.bindings = append(all.bindings, b)
		default:
			r := manifest.As[rbacv1.ClusterRole](o)
			r.Kind = id.Kind
			r.Namespace = id.Namespace
			r.Name = id.Name
			all.roles = append(all.roles, r)
		}
	}
	return all
}

// rbacIDOf returns the ID of a role or binding in its cluster.
func rbacIDOf(o *unstructured.Unstructured) (id manifest.ID, ok bool) {
	if manifest.Group(o.GetAPIVersion()) != rbacv1.GroupName {
		return id, false
	}
	switch o.GetKind() {
	case "ClusterRole", "ClusterRoleBinding":
		return rbacID(o.GetKind(), "", o.GetName()), true
	case "Role", "RoleBinding":
		return rbacID(o.GetKind(), compare.NamespaceOf(o), o.GetName()), true
	}
	return id, false
}

func rbacID(kind, namespace, name string) manifest.ID {
	return manifest.ID{Group: rbacv1.GroupName, Kind: kind, Namespace: namespace, Name: name}
}

// newRights indexes the roles and bindings of a side. A role of the repository replaces the rules of a
// built-in role. The API server restores the labels and the aggregation of the built-in role.
func newRights(own rbacObjects, b *selector.Budget) *rights {
	r := &rights{roles: map[manifest.ID]*ruleSet{}, grants: map[rbacv1.Subject][]grant{},
		accounts: own.accounts, budget: b}
	for _, role := range slices.Concat(builtIn().roles, own.roles) {
		set := &ruleSet{in: r, id: rbacID(role.Kind, role.Namespace, role.Name), labels: role.Labels, rules: role.Rules}
		if role.AggregationRule != nil { // the cluster replaces its own rules
			set.rules = nil
			for _, s := range role.AggregationRule.ClusterRoleSelectors {
				if read, ok := selector.Read(&s); ok {
					set.selectors = append(set.selectors, read)
				}
			}
		}
		if was := r.roles[set.id]; was != nil {
			set.labels = labels.Merge(was.labels, set.labels)
			set.selectors = slices.Concat(was.selectors, set.selectors)
		}
		r.roles[set.id] = set
	}
	for _, set := range r.roles {
		if set.id.Kind == "ClusterRole" {
			r.clusterRoles = append(r.clusterRoles, set)
		}
	}
	slices.SortFunc(r.clusterRoles, func(a, b *ruleSet) int { return cmp.Compare(a.id.Name, b.id.Name) })
	for _, binding := range slices.Concat(builtIn().bindings, own.bindings) {
		r.bind(binding)
	}
	return r
}

// bind adds the grants of a binding. A ClusterRoleBinding of a Role grants nothing.
func (r *rights) bind(b rbacv1.ClusterRoleBinding) {
	g := grant{binding: rbacID(b.Kind, b.Namespace, b.Name), scope: b.Namespace}
	switch {
	case b.RoleRef.Kind == "ClusterRole":
		g.role = rbacID(b.RoleRef.Kind, "", b.RoleRef.Name)
	case b.RoleRef.Kind == "Role" && b.Namespace != "":
		g.role = rbacID(b.RoleRef.Kind, b.Namespace, b.RoleRef.Name)
	default:
		return
	}
	if g.rules = r.roles[g.role]; g.rules != nil {
		g.rules.isBound = true
	}
	for _, s := range b.Subjects {
		if s, ok := normalized(s, g.scope); ok {
			r.grants[s] = append(r.grants[s], g)
		}
	}
}

// normalized returns a subject without its redundant fields. The user of a ServiceAccount is the ServiceAccount.
// The API server ignores other kinds, and a ServiceAccount without a namespace.
func normalized(s rbacv1.Subject, scope string) (_ rbacv1.Subject, ok bool) {
	switch s.Kind {
	case rbacv1.GroupKind:
		return rbacv1.Subject{Kind: s.Kind, Name: s.Name}, true
	case rbacv1.UserKind:
		if namespace, name, err := serviceaccount.SplitUsername(s.Name); err == nil {
			return account(namespace, name), true
		}
		return rbacv1.Subject{Kind: s.Kind, Name: s.Name}, true
	case rbacv1.ServiceAccountKind:
		s = account(cmp.Or(s.Namespace, scope), s.Name)
		return s, s.Namespace != ""
	}
	return s, false
}

func account(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

// of returns the grants of a subject, and of each group that it certainly is in.
func (r *rights) of(s rbacv1.Subject) [][]grant {
	var groups []string
	switch {
	case s.Kind == rbacv1.ServiceAccountKind:
		groups = append(serviceaccount.MakeGroupNames(s.Namespace), user.AllAuthenticated)
	case s.Kind == rbacv1.UserKind && s.Name == user.Anonymous:
		groups = []string{user.AllUnauthenticated}
	case s.Kind == rbacv1.GroupKind && (s.Name == user.AllAuthenticated || s.Name == user.AllUnauthenticated):
	case s.Kind == rbacv1.GroupKind && strings.HasPrefix(s.Name, serviceaccount.ServiceAccountGroupPrefix):
		groups = []string{serviceaccount.AllServiceAccountsGroup, user.AllAuthenticated}
	default:
		groups = []string{user.AllAuthenticated}
	}
	all := append(make([][]grant, 0, 1+len(groups)), r.grants[s])
	for _, name := range groups {
		all = append(all, r.grants[rbacv1.Subject{Kind: rbacv1.GroupKind, Name: name}])
	}
	return all
}

// closure returns a role and the roles that it aggregates, directly or through others.
func (s *ruleSet) closure() []*ruleSet {
	if s.members != nil {
		return s.members
	}
	s.members = []*ruleSet{s}
	isMember := map[*ruleSet]bool{s: true}
	for i := 0; i < len(s.members); i++ {
		for _, selector := range s.members[i].selectors {
			if s.isPartial = !s.in.budget.Spend(selector.Cost * len(s.in.clusterRoles)); s.isPartial {
				return s.members
			}
			for _, other := range s.in.clusterRoles {
				if !isMember[other] && selector.Matches(other.labels) {
					isMember[other] = true
					s.members = append(s.members, other)
				}
			}
		}
	}
	return s.members
}

// keyed returns the rules of a role and of the roles that it aggregates.
func (s *ruleSet) keyed() []keyedRule {
	if s.all != nil {
		return s.all
	}
	s.all = []keyedRule{}
	for _, member := range s.closure() {
		if !s.in.budget.Spend(len(member.rules)) {
			s.isPartial = true
			break
		}
		for _, rule := range member.rules {
			key, _ := json.Marshal(rule) // a rule has only strings
			s.all = append(s.all, keyedRule{rule, string(key)})
		}
	}
	return s.all
}
