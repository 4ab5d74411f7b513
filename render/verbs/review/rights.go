package review

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/component-helpers/auth/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"example.com/gatehouse/render/manifest"
)

// This file computes the rights of subjects before and after a change. It reads a Role as a ClusterRole,
// and a RoleBinding as a ClusterRoleBinding: their fields are equal.

// rights are the roles of a side and their bindings, with the defaults of every cluster.
type rights struct {
	roles        map[manifest.ID]*ruleSet
	clusterRoles []*ruleSet
	grants       map[rbacv1.Subject][]grant
	budget       *budget
}

// ruleSet is a role with its rules.
type ruleSet struct {
	in        *rights
	id        manifest.ID
	labels    labels.Set
	rules     []rbacv1.PolicyRule
	selectors []metav1.LabelSelector // of aggregated roles
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

// budget bounds the cost of all comparisons of a review.
type budget int

// spend takes n steps from the budget, and reports whether it has them.
func (b *budget) spend(n int) bool {
	if n > int(*b) {
		return false
	}
	*b -= budget(n)
	return true
}

// rbacObjects are roles and bindings with their kinds and, if they are namespaced, their namespaces.
type rbacObjects struct {
	roles    []rbacv1.ClusterRole
	bindings []rbacv1.ClusterRoleBinding
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
			all.roles = append(all.roles, rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{Kind: "Role"}, ObjectMeta: r.ObjectMeta, Rules: r.Rules})
		}
	}
	for _, bindings := range bootstrappolicy.NamespaceRoleBindings() {
		for _, b := range bindings {
			all.bindings = append(all.bindings, rbacv1.ClusterRoleBinding{ObjectMeta: b.ObjectMeta, Subjects: b.Subjects, RoleRef: b.RoleRef})
		}
	}
	return all
})

// readRBAC returns the roles and bindings among objects.
func readRBAC(objects []*unstructured.Unstructured) (all rbacObjects) {
	for _, o := range objects {
		id, ok := rbacIDOf(o)
		switch {
		case !ok:
		case strings.HasSuffix(id.Kind, "Binding"):
			b := manifest.As[rbacv1.ClusterRoleBinding](o)
			b.Kind, b.Namespace, b.Name = id.Kind, id.Namespace, id.Name
			all.bindings = append(all.bindings, b)
		default:
			r := manifest.As[rbacv1.ClusterRole](o)
			r.Kind, r.Namespace, r.Name = id.Kind, id.Namespace, id.Name
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
		return rbacID(o.GetKind(), namespaceOf(o), o.GetName()), true
	}
	return id, false
}

func rbacID(kind, namespace, name string) manifest.ID {
	return manifest.ID{Group: rbacv1.GroupName, Kind: kind, Namespace: namespace, Name: name}
}

// newRights indexes the roles and bindings of a side. A role of the repository replaces the rules of a
// built-in role. The API server restores the labels and the aggregation of the built-in role.
func newRights(own rbacObjects, b *budget) *rights {
	r := &rights{roles: map[manifest.ID]*ruleSet{}, grants: map[rbacv1.Subject][]grant{}, budget: b}
	for _, role := range slices.Concat(builtIn().roles, own.roles) {
		set := &ruleSet{in: r, id: rbacID(role.Kind, role.Namespace, role.Name), labels: role.Labels, rules: role.Rules}
		if role.AggregationRule != nil { // the cluster replaces its own rules
			set.rules, set.selectors = nil, role.AggregationRule.ClusterRoleSelectors
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
			size := 1 + len(selector.MatchLabels)
			for _, e := range selector.MatchExpressions {
				size += 1 + len(e.Values)
			}
			if s.isPartial = !s.in.budget.spend(size * len(s.in.clusterRoles)); s.isPartial {
				return s.members
			}
			compiled, err := metav1.LabelSelectorAsSelector(&selector)
			for _, other := range s.in.clusterRoles {
				if err == nil && !isMember[other] && compiled.Matches(other.labels) {
					isMember[other], s.members = true, append(s.members, other)
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
		if !s.in.budget.spend(len(member.rules)) {
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

// gain are the rights that a subject gains in a scope.
type gain struct {
	scope     string
	rules     []rbacv1.PolicyRule
	unknown   []manifest.ID // roles with unknown rights
	isPartial bool          // the rules may include others that the subject had, or miss some
}

// comparison compares the rights of subjects before and after the changes of a world.
type comparison struct {
	before, after, everywhere *rights // everywhere are the rights in every cluster

	// The ServiceAccounts of the environment.
	accountsBefore, accountsAfter map[rbacv1.Subject]*unstructured.Unstructured

	changes map[manifest.ID]int // the index of changed roles and bindings
	causes  map[*ruleSet]int
	memo    map[string][]gain
	budget  *budget
}

const unchanged = -1

func newComparison(w *world) *comparison {
	steps := budget(20_000_000) // about a second
	c := &comparison{changes: map[manifest.ID]int{}, causes: map[*ruleSet]int{}, memo: map[string][]gain{}, budget: &steps}
	after := slices.Clone(w.after.objects)
	for i, change := range w.Changes {
		id, isRBAC := rbacIDOf(change.Object().Unstructured)
		switch {
		case change.After != nil && isRBAC:
			c.changes[id] = i
		case change.After == nil && keptBy(change.Before) != "":
			after = append(after, change.Before)
		}
	}
	c.accountsBefore, c.accountsAfter = accountsIn(w.before.objects), accountsIn(after)
	c.everywhere = newRights(rbacObjects{}, c.budget)
	c.before, c.after = newRights(readRBAC(w.before.objects), c.budget), newRights(readRBAC(after), c.budget)
	return c
}

func accountsIn(objects []*unstructured.Unstructured) map[rbacv1.Subject]*unstructured.Unstructured {
	accounts := map[rbacv1.Subject]*unstructured.Unstructured{}
	for _, o := range objects {
		if kindOf(o) == "ServiceAccount" {
			accounts[account(namespaceOf(o), o.GetName())] = o
		}
	}
	return accounts
}

// causeOf returns the index of the change that may add rights to a grant, or unchanged.
func (c *comparison) causeOf(g grant) int {
	if i, ok := c.changes[g.binding]; ok {
		return i
	}
	if g.rules == nil {
		return unchanged
	}
	cause, ok := c.causes[g.rules]
	if !ok {
		cause = unchanged
		among := g.rules.closure()
		if g.rules.isPartial {
			among = g.rules.in.clusterRoles
		}
		for _, member := range among {
			if i, ok := c.changes[member.id]; ok {
				cause = i
				break
			}
		}
		c.causes[g.rules] = cause
	}
	return cause
}

// gainsOf returns the rights that a subject gains by its own grants, and the index of the first change that
// adds some of them.
func (c *comparison) gainsOf(s rbacv1.Subject) (gains []gain, cause int) {
	by, had := map[int][]grant{}, c.before.of(s)
	var all []grant
	for _, g := range c.after.grants[s] {
		if cause := c.causeOf(g); cause != unchanged {
			by[cause], all = append(by[cause], g), append(all, g)
		}
	}
	if len(all) == 0 {
		return nil, unchanged
	}
	for _, cause = range slices.Sorted(maps.Keys(by)) {
		if len(by) == 1 || len(c.gains([][]grant{by[cause]}, had)) > 0 {
			return c.gains([][]grant{all}, had), cause
		}
	}
	return nil, unchanged
}

// gainsOfRole returns the rights that a role gains, unless the bindings of the environment tell all of it: a
// built-in role has other bindings in its cluster.
func (c *comparison) gainsOfRole(id manifest.ID) (gains []gain, cause int) {
	was, is := c.before.roles[id], c.after.roles[id]
	if was == nil || is.isBound && c.everywhere.roles[id] == nil {
		return nil, unchanged
	}
	g := grant{role: id, rules: is, scope: id.Namespace}
	if cause = c.causeOf(g); cause == unchanged {
		return nil, unchanged
	}
	return c.gains([][]grant{{g}}, [][]grant{{{role: id, rules: was, scope: id.Namespace}}}), cause
}

// gains returns the rights of grants after the change that the grants before it lack. The first list is of
// the subject, the others are of its groups. Equal grants of several subjects are compared once.
func (c *comparison) gains(after, before [][]grant) []gain {
	key := signature(after) + "|" + signature(before)
	gains, isKnown := c.memo[key]
	if isKnown {
		return gains
	}
	is, had := byScope(after), byScope(before)
	for _, scope := range slices.Sorted(maps.Keys(is)) {
		old := had[""]
		if scope != "" { // the gains in the whole cluster come first, and are told once
			old = slices.Concat(had[""], had[scope], is[""])
		}
		if gained := c.gainIn(scope, is[scope], old); len(gained.rules)+len(gained.unknown) > 0 || gained.isPartial {
			gains = append(gains, gained)
		}
	}
	c.memo[key] = gains
	return gains
}

// signature returns a text that is equal for lists of equal grants.
func signature(lists [][]grant) string {
	var b strings.Builder
	for i, list := range lists {
		if i > 0 { // all subjects share the list of a group
			fmt.Fprintf(&b, "%p+%d ", list, len(list))
			continue
		}
		for _, g := range list {
			fmt.Fprintf(&b, "%p %q %q ", g.rules, g.scope, g.role)
		}
	}
	return b.String()
}

func byScope(lists [][]grant) map[string][]grant {
	scopes := map[string][]grant{}
	for _, g := range slices.Concat(lists...) {
		scopes[g.scope] = append(scopes[g.scope], g)
	}
	return scopes
}

// gainIn returns the rights of grants in a scope that old grants lack.
func (c *comparison) gainIn(scope string, grants, old []grant) gain {
	const maxTuples = 20_000 // of verb, group, resource and name
	e := gain{scope: scope}
	isOwned, owned, weight := map[string]bool{}, []rbacv1.PolicyRule{}, 1
	c.eachRule(old, func(g grant, rule keyedRule) {
		if !isOwned[rule.key] && g.rules != nil {
			owned, weight = append(owned, rule.PolicyRule), weight+weightOf(rule)
		}
		isOwned[rule.key] = true
	})
	var missing []rbacv1.PolicyRule
	tuples := 0.0
	isComplete := c.eachRule(grants, func(g grant, rule keyedRule) {
		switch {
		case isOwned[rule.key] || scope != "" && len(rule.NonResourceURLs) > 0:
		case g.rules != nil:
			missing, tuples = append(missing, rule.PolicyRule), tuples+tuplesOf(rule)
		case c.before.roles[g.role] == nil: // else the change removes the role
			e.unknown = append(e.unknown, g.role)
		}
		isOwned[rule.key] = true
	})
	if !isComplete || tuples > maxTuples || !c.budget.spend(int(tuples)*weight) {
		e.rules, e.isPartial = missing, true
		return e
	}
	_, e.rules = validation.Covers(owned, missing)
	return e
}

// eachRule visits the rules of grants, and an empty rule for an unknown role. It reports whether these are
// all rules.
func (c *comparison) eachRule(grants []grant, visit func(grant, keyedRule)) (isComplete bool) {
	isComplete = true
	for _, g := range grants {
		rules := []keyedRule{{key: g.role.String()}}
		if g.rules != nil {
			rules = g.rules.keyed()
			isComplete = isComplete && !g.rules.isPartial
		}
		if !c.budget.spend(len(rules)) {
			return false
		}
		for _, rule := range rules {
			visit(g, rule)
		}
	}
	return isComplete
}

// tuplesOf returns the number of tuples that validation.Covers compares for a rule.
func tuplesOf(r keyedRule) float64 {
	objects := float64(len(r.APIGroups)) * float64(len(r.Resources)) * float64(max(1, len(r.ResourceNames)))
	return float64(len(r.Verbs)) * (objects + float64(len(r.NonResourceURLs)))
}

// weightOf returns the steps to compare a rule with a tuple.
func weightOf(r keyedRule) int {
	return 1 + len(r.Verbs) + len(r.APIGroups) + len(r.Resources) + len(r.ResourceNames) + len(r.NonResourceURLs)
}
