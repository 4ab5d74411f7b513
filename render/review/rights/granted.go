package rights

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/review/effect"
)

// subjects returns an effect for each subject of a binding that gains rights, on the change that causes it.
// Subjects that may have bindings elsewhere are told by their role.
func (c *comparison) subjects(both *compare.Comparison) (effects []effect.Effect) {
	add := func(cause int, holder, may, risk kind.Sentence, severity effect.Severity) {
		c := both.Changes[cause]
		e := kind.Effect{Type: effect.RightsGranted, What: ifApplied(both, c, holder+" may now "+may), Risk: risk}
		effects = append(effects, effect.Effect{Object: c.Object().ID(), Effect: e, Severity: severity})
	}
	bySubject := func(a, b rbacv1.Subject) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}
	for _, s := range slices.SortedFunc(maps.Keys(c.after.grants), bySubject) {
		if gains, cause := c.gainsOf(s); len(gains) > 0 {
			may, can, severity := c.sayGains(gains, wholeCluster)
			add(cause, kind.Say("%s", sayKind(s)), may, holders(s)+cmp.Or(can, "get more rights"), severity)
		}
	}
	type gained struct {
		cause     int
		may, risk kind.Sentence
		severity  effect.Severity
	}
	var all []gained
	roles := map[gained][]string{}
	for _, id := range slices.SortedFunc(maps.Keys(c.after.roles), effect.CompareObjects) {
		if gains, cause := c.gainsOfRole(id); len(gains) > 0 {
			may, can, severity := c.sayGains(gains, "in the scope of their bindings")
			same := gained{cause, may, "they " + cmp.Or(can, "get more rights"), severity}
			if len(roles[same]) == 0 {
				all = append(all, same)
			}
			roles[same] = append(roles[same], id.String())
		}
	}
	for _, same := range all {
		add(same.cause, "the subjects of "+effect.Quote(roles[same]), same.may, same.risk, same.severity)
	}
	return effects
}

// ifApplied returns what a change does with its condition: the API server may refuse it, or its tool may not apply it.
func ifApplied(both *compare.Comparison, c compare.Change, what kind.Sentence) kind.Sentence {
	left := compare.LeftBy(c)
	switch {
	case left != nil && left.Treatment == delivery.Ignored:
		return "if it is applied: " + what
	case left != nil, len(both.Refused(c.After)) > 0:
		return "if it is deleted and recreated: " + what
	}
	return what
}

const wholeCluster kind.Sentence = "in the whole cluster"

// sayKind returns the kind and name of a subject.
func sayKind(s rbacv1.Subject) string {
	return s.Kind + " " + strings.TrimPrefix(s.Namespace+"/"+s.Name, "/")
}

// holders returns the people or Pods that have the rights of a subject, as the start of a sentence.
func holders(s rbacv1.Subject) kind.Sentence {
	namespace, isNamespace := strings.CutPrefix(s.Name, serviceaccount.ServiceAccountGroupPrefix)
	isGroup := s.Kind == rbacv1.GroupKind
	switch {
	case isGroup && s.Name == user.AllUnauthenticated, s.Kind == rbacv1.UserKind && s.Name == user.Anonymous:
		return "without a login, all clients that reach the API server "
	case isGroup && s.Name == user.AllAuthenticated:
		return "all users and all Pods of the cluster "
	case isGroup && s.Name == serviceaccount.AllServiceAccountsGroup:
		return "all Pods of the cluster "
	case isGroup && isNamespace:
		return kind.Say("all Pods in %s ", namespace)
	case s.Kind == rbacv1.ServiceAccountKind && s.Name == "default":
		return kind.Say("all Pods in %s without another ServiceAccount ", s.Namespace)
	}
	return "they "
}

// sayGains describes rights, and the power of their holders with its severity: "can read Secrets". The rights without
// a namespace are everywhere.
func (c *comparison) sayGains(gains []gain, everywhere kind.Sentence) (may, can kind.Sentence,
	severity effect.Severity) {
	scopes := map[kind.Sentence][]kind.Sentence{}
	ranks := map[kind.Sentence]int{}
	has := map[int]bool{}
	for _, g := range gains {
		said, rank := c.sayGain(g, has)
		where := everywhere
		if g.scope != "" {
			where = kind.Say("%s", g.scope)
		}
		scopes[said] = append(scopes[said], where)
		ranks[said] = rank
	}
	byPower := func(a, b kind.Sentence) int { return cmp.Or(cmp.Compare(ranks[a], ranks[b]), cmp.Compare(a, b)) }
	parts := slices.SortedFunc(maps.Keys(scopes), byPower)
	for i, said := range parts {
		where := effect.List(scopes[said])
		if where != everywhere {
			where = "in " + where
		}
		parts[i] += " " + where
	}
	var told []kind.Sentence
	for _, i := range slices.Sorted(maps.Keys(has)) {
		if !slices.Contains(told, powers[i].can) {
			told = append(told, powers[i].can)
		}
		severity = max(severity, severityOf(i))
	}
	const most = 8
	if more := len(told) - most; more > 1 {
		told = append(told[:most], kind.Say("and do %d other things", more))
	}
	if len(told) > 0 {
		can = "can " + effect.Join(told, ", ")
	}
	return effect.List(parts), can, severity
}

// sayGain describes the rights in a scope, the most powerful first. It adds the indices of their powers.
func (c *comparison) sayGain(g gain, has map[int]bool) (_ kind.Sentence, rank int) {
	rank = len(powers)
	add := func(i int) int {
		has[i] = true
		rank = min(rank, i)
		return i
	}
	if slices.ContainsFunc(g.rules, allowsAll) {
		if g.scope == "" {
			return "do everything", add(powerOverCluster)
		}
		return "do everything", add(powerOverNamespace)
	}
	verbs := map[string][]string{}
	ranks := map[string]int{} // by objects
	for _, r := range g.rules {
		objects := objectsOf(r)
		if _, isKnown := ranks[objects]; !isKnown {
			ranks[objects] = len(powers)
		}
		verbs[objects] = append(verbs[objects], r.Verbs...)
		if !c.budget.Spend(weightOf(r) * len(powers)) {
			g.isPartial = true
			continue
		}
		for i, p := range powers {
			if p.isIn(r, g.scope) {
				ranks[objects] = min(ranks[objects], add(i))
			}
		}
	}
	byPower := func(a, b string) int { return cmp.Or(cmp.Compare(ranks[a], ranks[b]), cmp.Compare(a, b)) }
	var said []kind.Sentence
	for _, role := range g.unknown {
		add(powerUnknown)
		said = append(said, kind.Say("use all rights of %s", role))
	}
	if g.isPartial {
		add(powerPartial)
	}
	for _, objects := range slices.SortedFunc(maps.Keys(verbs), byPower) {
		slices.Sort(verbs[objects])
		said = append(said, kind.Say("%s", strings.Join(slices.Compact(verbs[objects]), ",")+" "+objects))
	}
	if len(said) == 0 {
		said = append(said, "do more than before")
	}
	return effect.List(said), rank
}

// objectsOf returns the objects of a rule: "deployments.apps [web]". A resource without a group is in all
// groups or in the core group.
func objectsOf(r rbacv1.PolicyRule) string {
	objects := strings.Join(slices.Concat(r.Resources, r.NonResourceURLs), ",")
	groups := strings.Trim(strings.Join(r.APIGroups, ","), ",")
	switch {
	case slices.Contains(r.APIGroups, "*"):
	case groups != "":
		objects += "." + groups
	case slices.Contains(r.Resources, "*"):
		objects += ".core"
	}
	if len(r.ResourceNames) > 0 {
		objects += " [" + strings.Join(r.ResourceNames, " ") + "]"
	}
	return objects
}
