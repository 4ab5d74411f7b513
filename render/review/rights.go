package review

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/component-helpers/auth/rbac/validation"

	"example.com/gatehouse/render/object"
)

// rights are what users and programs may do that they could not before.
func (w *world) rights() (effects []Effect) {
	for _, c := range w.Changes {
		if c.After == nil || object.Group(c.After.GetAPIVersion()) != rbacv1.GroupName || w.refused[idOf(c.After)] {
			continue
		}
		var e Effect
		switch c.After.GetKind() {
		case "Role", "ClusterRole":
			e = w.roleEffect(c.Before, c.After)
		case "RoleBinding", "ClusterRoleBinding":
			e = w.bindingEffect(c.Before, c.After)
		}
		if e.Type != "" {
			e.Object = idOf(c.After)
			effects = append(effects, e)
		}
	}
	return effects
}

// roleEffect is what a role allows that it did not allow before. A new one allows nothing
// to anybody until it is bound; where that is new as well, it is said there.
func (w *world) roleEffect(before, after *unstructured.Unstructured) Effect {
	_, more := validation.Covers(rulesOf(before), rulesOf(after))
	if len(more) == 0 {
		return Effect{}
	}
	isBound, isNewlyBound := w.isBound(after, w.Unchanged), w.isBound(after, w.changedObjects())
	switch {
	case before != nil:
		return Effect{Type: RightsGranted, What: say("allows also %s", rulesText(more)), Risk: "whoever has this role may do more"}
	case isBound:
		return Effect{Type: RightsGranted, What: say("allows %s", rulesText(more)), Risk: "it is bound already: whoever has this role may do more"}
	case isAggregated(after):
		return Effect{Type: RightsGranted, What: say("allows %s", rulesText(more)), Risk: "its labels add it to another role: whoever has that may do more"}
	case isNewlyBound:
		return Effect{}
	}
	return Effect{Type: RightsGranted, What: say("allows %s", rulesText(more))}
}

func (w *world) changedObjects() (after []*unstructured.Unstructured) {
	for _, c := range w.Changes {
		if c.After != nil {
			after = append(after, c.After)
		}
	}
	return after
}

// isBound says whether one of some objects binds a role.
func (w *world) isBound(role *unstructured.Unstructured, among []*unstructured.Unstructured) bool {
	return slices.ContainsFunc(among, func(o *unstructured.Unstructured) bool {
		var binding rbacv1.ClusterRoleBinding
		return isBinding(o) && decode(o, &binding) == nil && refersTo(binding.RoleRef, o, role)
	})
}

func isBinding(o *unstructured.Unstructured) bool {
	return object.Group(o.GetAPIVersion()) == rbacv1.GroupName && strings.HasSuffix(o.GetKind(), "RoleBinding")
}

// refersTo says whether a binding is to a role.
func refersTo(ref rbacv1.RoleRef, binding, role *unstructured.Unstructured) bool {
	return object.Group(role.GetAPIVersion()) == rbacv1.GroupName && role.GetKind() == ref.Kind && role.GetName() == ref.Name &&
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

// rulesOf are the rules of a role; none of one that cannot be read.
func rulesOf(role *unstructured.Unstructured) []rbacv1.PolicyRule {
	var typed rbacv1.ClusterRole
	if role == nil || decode(role, &typed) != nil {
		return nil
	}
	return typed.Rules
}

// bindingEffect is who gets a role, and what that allows where this environment says so.
func (w *world) bindingEffect(before, after *unstructured.Unstructured) Effect {
	var was, is rbacv1.ClusterRoleBinding
	if decode(after, &is) != nil || before != nil && decode(before, &was) != nil {
		return Effect{}
	}
	var more []string
	for _, subject := range is.Subjects {
		if !slices.Contains(was.Subjects, subject) {
			more = append(more, strings.TrimSpace(subject.Kind+" "+strings.TrimPrefix(subject.Namespace+"/"+subject.Name, "/")))
		}
	}
	if len(more) == 0 {
		return Effect{}
	}
	where := Sentence("in the whole cluster")
	if after.GetKind() == "RoleBinding" {
		where = say("in %s", quoted(namespaceOf(after)))
	}
	role := is.RoleRef.Kind + " " + is.RoleRef.Name
	return Effect{Type: RightsGranted, What: say("gives %s to %s", quoted(role), quotedList(more)), Risk: say("they may %s %s", w.rightsOf(is.RoleRef, after), where)}
}

// rightsOf is what a role allows, as far as it is known.
func (w *world) rightsOf(ref rbacv1.RoleRef, binding *unstructured.Unstructured) Sentence {
	for _, o := range w.after.objects {
		if refersTo(ref, binding, o) {
			return rulesText(rulesOf(o))
		}
	}
	if ref.Name == "cluster-admin" {
		return "do everything"
	}
	return say("do what %s may", quoted(ref.Name))
}

// rulesText is what rules allow: verbs and resources, of the first few, those first that
// allow most.
func rulesText(rules []rbacv1.PolicyRule) Sentence {
	const most = 3
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
	slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(rankOf(a), rankOf(b)) })
	if len(texts) <= most {
		return quotedList(texts)
	}
	return quotedList(texts[:most]) + say(" and %d more", len(texts)-most)
}

// powerful are words of rules by which more can be had than they say.
// https://kubernetes.io/docs/concepts/security/rbac-good-practices/#privilege-escalation-risks
var powerful = []string{"*", "bind", "escalate", "exec", "impersonate", "secrets", "token"}

// rankOf is the lower, the more a rule allows.
func rankOf(rule string) int {
	i := slices.IndexFunc(powerful, func(word string) bool { return strings.Contains(rule, word) })
	if i < 0 {
		return len(powerful)
	}
	return i
}

func quotedList(values []string) Sentence {
	const most = 4
	quotes := make([]string, 0, most)
	for _, v := range values[:min(len(values), most)] {
		quotes = append(quotes, string(quoted(v)))
	}
	list := Sentence(strings.Join(quotes, ", "))
	if len(values) > most {
		list += say(" and %d more", len(values)-most)
	}
	return list
}

func decode(o *unstructured.Unstructured, into any) error {
	encoded, err := json.Marshal(o.Object)
	if err != nil {
		return err
	}
	return json.Unmarshal(encoded, into)
}
