package rights

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
	"pgregory.net/rapid"

	"example.com/gatehouse/kind/gatehouse"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
)

// cluster has the roles and bindings of a random environment.
type cluster struct {
	roles        []*rbacv1.Role
	clusterRoles []*rbacv1.ClusterRole
	bindings     []*rbacv1.RoleBinding
	everywhere   []*rbacv1.ClusterRoleBinding
}

func randomRules(t *rapid.T) (rules []rbacv1.PolicyRule) {
	some := func(values ...string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(values), 1, 2, rapid.ID).Draw(t, "values")
	}
	for range rapid.IntRange(0, 2).Draw(t, "rules") {
		rule := rbacv1.PolicyRule{Verbs: some("get", "*"), APIGroups: some("", "apps", "*"), Resources: some("pods", "secrets", "pods/exec", "*/exec", "*")}
		switch rapid.IntRange(0, 3).Draw(t, "form") {
		case 0:
			rule.ResourceNames = []string{"a"}
		case 1:
			rule = rbacv1.PolicyRule{Verbs: rule.Verbs, NonResourceURLs: some("/a", "/a/*", "/a/b", "*")}
		}
		rules = append(rules, rule)
	}
	return rules
}

func randomSubjects(t *rapid.T) []rbacv1.Subject {
	all := []rbacv1.Subject{
		{Kind: "User", Name: "alice"}, {Kind: "User", Name: "system:serviceaccount:a:web"}, {Kind: "User", Name: user.Anonymous},
		{Kind: "Group", Name: "g"}, {Kind: "Group", Name: user.AllAuthenticated}, {Kind: "Group", Name: user.AllUnauthenticated},
		{Kind: "Group", Name: "system:serviceaccounts"}, {Kind: "Group", Name: "system:serviceaccounts:a"},
		{Kind: "ServiceAccount", Name: "web", Namespace: "a"}, {Kind: "ServiceAccount", Name: "web"}, {Kind: "ServiceAccount", Name: "default", Namespace: "b"},
	}
	return rapid.SliceOfN(rapid.SampledFrom(all), 0, 2).Draw(t, "subjects")
}

func randomCluster(t *rapid.T) (c cluster) {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"r", "s", "u", "view"}), 0, 3, rapid.ID)
	team := func() map[string]string {
		return rapid.SampledFrom([]map[string]string{nil, {"team": "a"}, {"team": "b"}, {"rbac.authorization.k8s.io/aggregate-to-view": "true"}}).Draw(t, "labels")
	}
	for _, name := range names.Draw(t, "cluster roles") {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: team()}, Rules: randomRules(t)}
		if rapid.IntRange(0, 2).Draw(t, "is aggregated") == 0 || name == "view" {
			role.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: team()}}}
		}
		c.clusterRoles = append(c.clusterRoles, role)
	}
	for _, name := range names.Draw(t, "roles") {
		c.roles = append(c.roles, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "a"}, Rules: randomRules(t)})
	}
	ref := func(kinds ...string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Name: rapid.SampledFrom([]string{"r", "s", "view"}).Draw(t, "role")}
	}
	for _, name := range names.Draw(t, "cluster bindings") {
		c.everywhere = append(c.everywhere, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: randomSubjects(t), RoleRef: ref("ClusterRole")})
	}
	for _, name := range names.Draw(t, "bindings") {
		namespace := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace")
		c.bindings = append(c.bindings, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Subjects: randomSubjects(t), RoleRef: ref("Role", "ClusterRole")})
	}
	return c
}

func (c cluster) objects(t *rapid.T) (all []manifest.Object) {
	add := func(kind string, typed any) {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetAPIVersion(rbacv1.SchemeGroupVersion.String())
		u.SetKind(kind)
		all = append(all, manifest.Object{Unstructured: u})
	}
	for _, r := range c.roles {
		add("Role", r)
	}
	for _, r := range c.clusterRoles {
		add("ClusterRole", r)
	}
	for _, b := range c.bindings {
		add("RoleBinding", b)
	}
	for _, b := range c.everywhere {
		add("ClusterRoleBinding", b)
	}
	return all
}

// authorizer returns Kubernetes' own authorizer for a cluster, after its controller has aggregated roles.
func (c cluster) authorizer() authorizer.Authorizer {
	byName := map[string]*rbacv1.ClusterRole{}
	for _, r := range bootstrappolicy.ClusterRoles() {
		byName[r.Name] = &r
	}
	for _, own := range c.clusterRoles {
		r := own.DeepCopy()
		if was := byName[r.Name]; was != nil { // the API server restores its labels and selectors
			r.Labels = labels.Merge(was.Labels, r.Labels)
			r.AggregationRule.ClusterRoleSelectors = append(r.AggregationRule.ClusterRoleSelectors, was.AggregationRule.ClusterRoleSelectors...)
		}
		byName[r.Name] = r
	}
	var all []*rbacv1.ClusterRole
	for _, r := range byName {
		if r.AggregationRule != nil {
			r.Rules = nil
		}
		all = append(all, r)
	}
	for aggregate(all) {
		continue
	}
	everywhere := c.everywhere
	for _, b := range bootstrappolicy.ClusterRoleBindings() {
		everywhere = append(everywhere, &b)
	}
	_, static := validation.NewTestRuleResolver(c.roles, c.bindings, all, everywhere)
	return rbac.New(static, static, static, static)
}

// aggregate adds the missing rules to aggregated roles, and reports whether there were any.
func aggregate(roles []*rbacv1.ClusterRole) (changes bool) {
	for _, r := range roles {
		if r.AggregationRule == nil {
			continue
		}
		for _, selector := range r.AggregationRule.ClusterRoleSelectors {
			selects, _ := metav1.LabelSelectorAsSelector(&selector)
			for _, other := range roles {
				if !selects.Matches(labels.Set(other.Labels)) {
					continue
				}
				for _, rule := range other.Rules {
					if !slices.ContainsFunc(r.Rules, func(known rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(known, rule) }) {
						r.Rules, changes = append(r.Rules, rule), true
					}
				}
			}
		}
	}
	return changes
}

// requestsBy returns the requests of a user for each combination of the words in random rules, and others.
func requestsBy(who user.Info) (all []authorizer.AttributesRecord) {
	for _, verb := range []string{"get", "other"} {
		for _, path := range []string{"/a", "/a/b", "/a/c", "/other"} {
			all = append(all, authorizer.AttributesRecord{User: who, Verb: verb, Path: path})
		}
		for _, group := range []string{"", "apps", "other"} {
			for _, resource := range []string{"pods", "secrets", "pods/exec", "other/exec", "other"} {
				for _, name := range []string{"", "a"} {
					for _, namespace := range []string{"", "a", "b"} {
						resource, subresource, _ := strings.Cut(resource, "/")
						all = append(all, authorizer.AttributesRecord{User: who, Verb: verb, APIGroup: group, Resource: resource, Subresource: subresource, Name: name, Namespace: namespace, ResourceRequest: true})
					}
				}
			}
		}
	}
	return all
}

// gainsRequests reports whether a user may do more after a change, by Kubernetes' own authorizer.
func gainsRequests(t *rapid.T, before, after authorizer.Authorizer, who user.Info) bool {
	allows := func(a authorizer.Authorizer, request authorizer.AttributesRecord) bool {
		decision, _, err := a.Authorize(t.Context(), request)
		_ = err // a binding of an unknown role
		return decision == authorizer.DecisionAllow
	}
	return slices.ContainsFunc(requestsBy(who), func(request authorizer.AttributesRecord) bool {
		return !allows(before, request) && allows(after, request)
	})
}

// A subject has an effect if Kubernetes' own authorizer allows more requests.
func TestGrantedRightsAreThoseOfTheAuthorizer(t *testing.T) {
	authenticated := []string{user.AllAuthenticated}
	users := map[string]user.Info{ // by subject
		"User alice":                     &user.DefaultInfo{Name: "alice", Groups: authenticated},
		"User system:anonymous":          &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}},
		"Group g":                        &user.DefaultInfo{Name: "other", Groups: append([]string{"g"}, authenticated...)},
		"Group system:authenticated":     &user.DefaultInfo{Name: "other", Groups: authenticated},
		"Group system:unauthenticated":   &user.DefaultInfo{Name: "other", Groups: []string{user.AllUnauthenticated}},
		"Group system:serviceaccounts":   &user.DefaultInfo{Name: "other", Groups: append([]string{"system:serviceaccounts"}, authenticated...)},
		"Group system:serviceaccounts:a": &user.DefaultInfo{Name: "other", Groups: append([]string{"system:serviceaccounts", "system:serviceaccounts:a"}, authenticated...)},
		"ServiceAccount a/web":           &user.DefaultInfo{Name: "system:serviceaccount:a:web", Groups: append(serviceaccount.MakeGroupNames("a"), authenticated...)},
		"ServiceAccount b/web":           &user.DefaultInfo{Name: "system:serviceaccount:b:web", Groups: append(serviceaccount.MakeGroupNames("b"), authenticated...)},
		"ServiceAccount b/default":       &user.DefaultInfo{Name: "system:serviceaccount:b:default", Groups: append(serviceaccount.MakeGroupNames("b"), authenticated...)},
	}
	rapid.Check(t, func(t *rapid.T) {
		was := randomCluster(t)
		is := was
		switch other := randomCluster(t); rapid.IntRange(0, 3).Draw(t, "change") {
		case 0:
			is = other
		case 1:
			is.clusterRoles = other.clusterRoles
		case 2:
			is.roles, is.clusterRoles = other.roles, other.clusterRoles
		case 3:
			is.bindings, is.everywhere = other.bindings, other.everywhere
		}
		w := compare.New(gatehouse.All(), "prod", compare.Input{Objects: was.objects(t)}, compare.Input{Objects: is.objects(t)})
		told := map[string]bool{}
		for _, e := range Review(w) {
			subject, _, _ := strings.Cut(strings.TrimPrefix(e.What.Plain(), "if it is deleted and recreated: "), " may now ")
			told[subject] = true
		}
		before, after := was.authorizer(), is.authorizer()
		for subject, who := range users {
			gains := gainsRequests(t, before, after, who)
			byGroup := slices.ContainsFunc(who.GetGroups(), func(g string) bool { return told["Group "+g] })
			if gains && !told[subject] && !byGroup {
				t.Errorf("%s gains rights without an effect", subject)
			}
		}
	})
}
