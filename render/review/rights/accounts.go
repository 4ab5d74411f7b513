package rights

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/review/effect"
)

// reviewPods returns the effect of Pods that run as another ServiceAccount with more rights.
func (c *comparison) reviewPods(change compare.Change, pods compare.PodChange) (e effect.Effect) {
	was := pods.Was
	is := &pods.Is.Spec
	now := account(compare.NamespaceOf(change.After), compare.AccountOf(is))
	verb := "run"
	old := now
	had := c.newcomer(now)
	var before *unstructured.Unstructured // the account
	if was != nil {
		verb = "now run"
		old = account(compare.NamespaceOf(change.Before), compare.AccountOf(&was.Spec))
		before = c.before.accounts[old]
		switch hadToken := len(compare.Audiences(&was.Spec)) > 0; {
		case old == now && (hadToken || len(compare.Audiences(is)) == 0):
			return e
		case hadToken:
			had = append([][]grant{c.before.grants[old]}, c.after.of(old)[1:]...)
		}
	}
	rights, risk, severity := c.sayAccount(now, had,
		compare.Without(cloudRoles(c.after.accounts[now]), cloudRoles(before)))
	switch isUnknown := c.after.accounts[now] == nil && now.Name != "default" && len(c.after.grants[now]) == 0; {
	case rights == "" && isUnknown && (was == nil || old != now):
		rights = "has unknown rights: it is not in this environment"
		risk = "may get more rights"
	case rights == "":
		return e
	}
	e.Type = effect.RightsGranted
	e.Severity = severity
	e.What = kind.Say("Pods "+verb+" as %s, which ", sayKind(now)) + rights
	e.Risk = "an attacker in a container " + risk
	return e
}

// newcomer returns the grants that an account has in every cluster, by its groups.
func (c *comparison) newcomer(s rbacv1.Subject) [][]grant {
	return append([][]grant{nil}, c.everywhere.of(s)[1:]...)
}

// sayAccount describes the rights of an account that others had not, or nothing.
func (c *comparison) sayAccount(s rbacv1.Subject, had [][]grant, cloud []string) (rights, risk kind.Sentence,
	severity effect.Severity) {
	var said []kind.Sentence
	may, can, severity := c.sayGains(c.gains(c.after.of(s), had), wholeCluster)
	if may != "" {
		said = append(said, "may "+may)
	}
	for _, role := range cloud {
		said = append(said, kind.Say("has the cloud role %s", role))
	}
	return effect.Join(said, " and "), cmp.Or(can, "gets these rights"), severity
}

// reviewToken returns the effect of a Secret that gets a token of a ServiceAccount.
func (c *comparison) reviewToken(change compare.Change) (e effect.Effect) {
	is, ok := tokenOf(change.After)
	if was, had := tokenOf(change.Before); !ok || had && was == is {
		return e
	}
	e.Type = effect.RightsGranted
	e.What = kind.Say("holds a token of %s that does not expire", sayKind(is))
	e.Risk = "readers of the Secret can act as it"
	if rights, risk, severity := c.sayAccount(is, c.newcomer(is), nil); rights != "" {
		e.What += ", which " + rights
		e.Risk = "a reader of the Secret " + risk
		e.Severity = severity
	}
	return e
}

// tokenOf returns the ServiceAccount of a Secret's token, if it has one.
func tokenOf(o *unstructured.Unstructured) (rbacv1.Subject, bool) {
	if o == nil || compare.KindOf(o) != "Secret" ||
		compare.Text(o, "type") != string(corev1.SecretTypeServiceAccountToken) {
		return rbacv1.Subject{}, false
	}
	return account(compare.NamespaceOf(o), o.GetAnnotations()[corev1.ServiceAccountNameKey]), true
}

// cloudRoles returns the roles and identities in a cloud of a ServiceAccount's Pods.
func cloudRoles(o *unstructured.Unstructured) (roles []string) {
	if o == nil {
		return nil
	}
	for _, key := range compare.CloudRoles {
		if role := o.GetAnnotations()[key]; role != "" {
			roles = append(roles, role)
		}
	}
	return roles
}

// Review returns the effects of a change that gives rights: on subjects of bindings, and on Pods and
// Secrets that get the rights of a ServiceAccount.
func Review(both *compare.Comparison) (effects []effect.Effect) {
	r := newComparison(both)
	for _, change := range both.Changes {
		if change.After == nil {
			continue
		}
		changes := both.PodChanges(change)
		found := append(make([]effect.Effect, 0, len(changes)+1), r.reviewToken(change))
		for _, pods := range changes {
			found = append(found, r.reviewPods(change, pods))
		}
		for _, e := range found {
			if e.Type != "" {
				e.Object = both.Reported(change.After)
				e.What = ifApplied(both, change, e.What)
				effects = append(effects, e)
			}
		}
	}
	return append(effect.Once(effects), r.subjects(both)...)
}
