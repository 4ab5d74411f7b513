package review

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/component-helpers/auth/rbac/validation"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
)

// This file reads a Role as a ClusterRole, and a RoleBinding as a ClusterRoleBinding. Their fields are equal.

// reviewRole reviews Roles and ClusterRoles. A new role grants nothing until it is bound, and the effect of a
// new binding describes its rights.
func reviewRole(w *world, c diff.Change) []kind.Effect {
	_, more := validation.Covers(manifest.As[rbacv1.ClusterRole](c.Before).Rules, manifest.As[rbacv1.ClusterRole](c.After).Rules)
	if len(more) == 0 {
		return nil
	}
	e := kind.Effect{Type: RightsGranted, What: "allows " + sayRules(more)}
	switch {
	case c.Before != nil:
		e.What, e.Risk = "also allows "+sayRules(more), "all subjects of this role get more rights"
	case isBound(c.After, w.Unchanged):
		e.Risk = "it is bound already: all its subjects get more rights"
	case isAggregated(c.After):
		e.Risk = "its labels add it to another role: all subjects of that role get more rights"
	case isBound(c.After, w.after.objects):
		return nil
	}
	return []kind.Effect{e}
}

// isBound reports whether some objects include a binding of a role.
func isBound(role *unstructured.Unstructured, among []*unstructured.Unstructured) bool {
	return slices.ContainsFunc(among, func(o *unstructured.Unstructured) bool {
		isBinding := manifest.Group(o.GetAPIVersion()) == rbacv1.GroupName && strings.HasSuffix(o.GetKind(), "RoleBinding")
		return isBinding && refersTo(manifest.As[rbacv1.ClusterRoleBinding](o).RoleRef, o, role)
	})
}

// refersTo reports whether a binding refers to a role.
func refersTo(ref rbacv1.RoleRef, binding, role *unstructured.Unstructured) bool {
	return manifest.Group(role.GetAPIVersion()) == rbacv1.GroupName && role.GetKind() == ref.Kind && role.GetName() == ref.Name &&
		(ref.Kind == "ClusterRole" || namespaceOf(role) == namespaceOf(binding))
}

func isAggregated(role *unstructured.Unstructured) bool {
	for label, value := range role.GetLabels() {
		if strings.HasPrefix(label, "rbac.authorization.k8s.io/aggregate-to-") && value == "true" {
			return true
		}
	}
	return false
}

// reviewBinding reviews RoleBindings and ClusterRoleBindings: new subjects and, if known, their rights.
func reviewBinding(w *world, c diff.Change) []kind.Effect {
	was, is := manifest.As[rbacv1.ClusterRoleBinding](c.Before), manifest.As[rbacv1.ClusterRoleBinding](c.After)
	var more []string
	for _, subject := range is.Subjects {
		if !slices.Contains(was.Subjects, subject) {
			more = append(more, strings.TrimSpace(subject.Kind+" "+strings.TrimPrefix(subject.Namespace+"/"+subject.Name, "/")))
		}
	}
	if len(more) == 0 {
		return nil
	}
	where := kind.Sentence("in the whole cluster")
	if c.After.GetKind() == "RoleBinding" {
		where = kind.Say("in %s", namespaceOf(c.After))
	}
	role := is.RoleRef.Kind + " " + is.RoleRef.Name
	return []kind.Effect{{Type: RightsGranted, What: kind.Say("gives %s to %s", role, quoteAll(more)), Risk: kind.Say("they may %s %s", w.rightsOf(is.RoleRef, c.After), where)}}
}

// rightsOf describes the rights of a role, if known.
func (w *world) rightsOf(ref rbacv1.RoleRef, binding *unstructured.Unstructured) kind.Sentence {
	for _, o := range w.after.objects {
		if refersTo(ref, binding, o) {
			return sayRules(manifest.As[rbacv1.ClusterRole](o).Rules)
		}
	}
	if ref.Name == "cluster-admin" {
		return "do everything"
	}
	return kind.Say("use all rights of %s", ref.Name)
}

// sayRules lists the verbs and resources of rules, the most powerful first.
func sayRules(rules []rbacv1.PolicyRule) kind.Sentence {
	verbs := map[string][]string{} // by resources
	for _, r := range rules {
		resources := strings.Join(slices.Concat(r.Resources, r.NonResourceURLs), ",")
		if len(r.ResourceNames) > 0 {
			resources += fmt.Sprint(" ", r.ResourceNames)
		}
		verbs[resources] = append(verbs[resources], r.Verbs...)
	}
	texts := make([]string, 0, len(verbs))
	for _, resources := range slices.Sorted(maps.Keys(verbs)) {
		slices.Sort(verbs[resources])
		texts = append(texts, strings.Join(slices.Compact(verbs[resources]), ",")+" "+resources)
	}
	slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(powerRank(a), powerRank(b)) })
	return quoteAll(texts)
}

// powerful are words of rules that let subjects escalate their rights.
// https://kubernetes.io/docs/concepts/security/rbac-good-practices/#privilege-escalation-risks
var powerful = []string{"*", "bind", "escalate", "exec", "impersonate", "secrets", "token"}

// powerRank returns a lower rank for a more powerful rule.
func powerRank(rule string) int {
	i := slices.IndexFunc(powerful, func(word string) bool { return strings.Contains(rule, word) })
	if i < 0 {
		return len(powerful)
	}
	return i
}
