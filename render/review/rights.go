package review

import (
	"encoding/json"
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
			e = roleEffect(c.Before, c.After)
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
// to anybody until it is bound.
func roleEffect(before, after *unstructured.Unstructured) Effect {
	_, more := validation.Covers(rulesOf(before), rulesOf(after))
	if len(more) == 0 {
		return Effect{}
	}
	e := Effect{Type: RightsGranted, What: say("allows %s", rulesText(more))}
	switch {
	case before != nil:
		e.What, e.Risk = say("allows also %s", rulesText(more)), "whoever has this role may do more"
	case isAggregated(after):
		e.Risk = "its labels add it to another role: whoever has that may do more"
	}
	return e
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
		isIt := object.Group(o.GetAPIVersion()) == rbacv1.GroupName && o.GetKind() == ref.Kind && o.GetName() == ref.Name
		if isIt && (ref.Kind == "ClusterRole" || namespaceOf(o) == namespaceOf(binding)) {
			return rulesText(rulesOf(o))
		}
	}
	if ref.Name == "cluster-admin" {
		return "do everything"
	}
	return say("do what %s may", quoted(ref.Name))
}

// rulesText is what rules allow: verbs and resources, of the first few.
func rulesText(rules []rbacv1.PolicyRule) Sentence {
	const most = 3
	var texts []string
	for _, r := range rules {
		resources := slices.Concat(r.Resources, r.NonResourceURLs)
		texts = append(texts, strings.Join(r.Verbs, ",")+" "+strings.Join(resources, ","))
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	if len(texts) <= most {
		return quotedList(texts)
	}
	return quotedList(texts[:most]) + " and " + count(int64(len(texts)-most), "more")
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
