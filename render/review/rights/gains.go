package rights

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/selector"
)

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

	changes map[manifest.ID]int // the index of changed roles and bindings
	causes  map[*ruleSet]int
	memo    map[string][]gain
	budget  *selector.Budget
}

const unchanged = -1

func newComparison(both *compare.Comparison) *comparison {
	c := &comparison{changes: map[manifest.ID]int{}, causes: map[*ruleSet]int{}, memo: map[string][]gain{}}
	c.budget = &selector.Budget{Steps: 20_000_000} // about a second
	was := slices.Clone(both.Unchanged)
	live := slices.Clone(both.Unchanged)
	for i, change := range both.Changes {
		if change.Before != nil && delivery.Find(compare.Settings(change, change.Before), delivery.Ignored) == nil {
			was = append(was, change.Before) // and one that its tool ignores may grant nothing yet
		}
		if o := cmp.Or(change.After, compare.Live(change)); o != nil { // another tool may apply it
			live = append(live, o)
		}
		if id, isRBAC := rbacIDOf(change.Object().Unstructured); isRBAC && change.After != nil {
			c.changes[id] = i
		}
	}
	c.everywhere = newRights(rbacObjects{}, c.budget)
	c.before = newRights(readRBAC(was), c.budget)
	c.after = newRights(readRBAC(live), c.budget)
	return c
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
	by := map[int][]grant{}
	had := c.before.of(s)
	var all []grant
	for _, g := range c.after.grants[s] {
		if cause := c.causeOf(g); cause != unchanged {
			by[cause] = append(by[cause], g)
			all = append(all, g)
		}
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
	was := c.before.roles[id]
	is := c.after.roles[id]
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
	is := byScope(after)
	had := byScope(before)
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
	isOwned := map[string]bool{}
	owned := []rbacv1.PolicyRule{}
	weight := 1
	c.eachRule(old, func(g grant, rule keyedRule) {
		if !isOwned[rule.key] && g.rules != nil {
			owned = append(owned, rule.PolicyRule)
			weight += weightOf(rule.PolicyRule)
		}
		isOwned[rule.key] = true
	})
	var missing []rbacv1.PolicyRule
	tuples := 0.0
	isComplete := c.eachRule(grants, func(g grant, rule keyedRule) {
		switch {
		case isOwned[rule.key] || scope != "" && len(rule.NonResourceURLs) > 0:
		case g.rules != nil:
			missing = append(missing, rule.PolicyRule)
			tuples += tuplesOf(rule.PolicyRule)
		case c.before.roles[g.role] == nil: // else the change removes the role
			e.unknown = append(e.unknown, g.role)
		}
		isOwned[rule.key] = true
	})
	if !isComplete || tuples > maxTuples || !c.budget.Spend(int(tuples)*weight) {
		e.rules = missing
		e.isPartial = true
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
		if !c.budget.Spend(len(rules)) {
			return false
		}
		for _, rule := range rules {
			visit(g, rule)
		}
	}
	return isComplete
}

// tuplesOf returns the number of tuples that validation.Covers compares for a rule.
func tuplesOf(r rbacv1.PolicyRule) float64 {
	objects := float64(len(r.APIGroups)) * float64(len(r.Resources)) * float64(max(1, len(r.ResourceNames)))
	return float64(len(r.Verbs)) * (objects + float64(len(r.NonResourceURLs)))
}

// weightOf returns the steps to compare a rule with a tuple.
func weightOf(r rbacv1.PolicyRule) int {
	return 1 + len(r.Verbs) + len(r.APIGroups) + len(r.Resources) + len(r.ResourceNames) + len(r.NonResourceURLs)
}
