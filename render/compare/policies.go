package compare

import (
	"cmp"
	"slices"
	"strings"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
)

// heedPolicies marks the objects that ApplicationSets leave alone, by their applicationsSync: Applications that they do
// not update or delete (ApplicationsSyncPolicy of Argo CD, which the flags of its controller may overrule), and the
// objects of an Application that stays, or goes without the finalizer that deletes them. Objects are both the former
// and the new ones.
func (d *Differences) heedPolicies(objects []manifest.Object) {
	policies, ignores := policiesOf(objects)
	stays := map[manifest.ID]*delivery.Setting{} // objects of removed Applications
	for i := range d.Changes {
		c := &d.Changes[i]
		policy, isMade := policies[c.InstalledBy]
		if !delivery.IsApplication(c.Object()) || !isMade {
			continue
		}
		left := &delivery.Setting{Tool: delivery.Argo, Treatment: delivery.Kept, Value: policy,
			Key: "spec.syncPolicy.applicationsSync of " + c.InstalledBy.String()}
		switch {
		case c.After == nil && (policy == "create-only" || policy == "create-update"):
			c.keptBy = cmp.Or(c.keptBy, left)
			stays[c.Object().ID()] = left
		case c.After == nil && !slices.ContainsFunc(c.Before.GetFinalizers(), deletesObjects):
			stays[c.Object().ID()] = &delivery.Setting{Tool: delivery.Argo, Treatment: delivery.Outlasting,
				Key: "the missing finalizer of " + c.Object().String()}
		case policy == "create-only" || policy == "create-delete":
			c.leftBy = cmp.Or(c.leftBy, left)
		case c.Action() == Changed && ignores[c.InstalledBy].ignores(*c):
			c.leftBy = cmp.Or(c.leftBy, &delivery.Setting{Tool: delivery.Argo, Treatment: delivery.Ignored,
				Key: "spec.ignoreApplicationDifferences of " + c.InstalledBy.String(), Value: "respected"})
		}
	}
	for i := range d.Changes {
		if c := &d.Changes[i]; c.After == nil {
			c.keptBy = cmp.Or(c.keptBy, stays[c.InstalledBy])
		}
	}
}

// policiesOf returns the applicationsSync and the ignored fields of ApplicationSets: after the change, or of removed
// ones.
func policiesOf(objects []manifest.Object) (policies map[manifest.ID]string, ignores map[manifest.ID]setSpec) {
	policies = map[manifest.ID]string{}
	ignores = map[manifest.ID]setSpec{}
	for _, o := range objects {
		if o.GetKind() == "ApplicationSet" {
			policies[o.Committed().ID()] = Text(o.Unstructured, "spec", "syncPolicy", "applicationsSync")
			spec := setSpec{}
			_ = manifest.Decode(o.Object["spec"], &spec) // a wrong type is an error of the definition
			ignores[o.Committed().ID()] = spec
		}
	}
	return policies, ignores
}

// setSpec has the fields of an ApplicationSet that decide about its Applications in the cluster.
type setSpec struct {
	IgnoreApplicationDifferences []struct {
		Name string
		ignored
	}
}

// ignores reports whether the controller of an ApplicationSet leaves a changed Application as it is: it changes no
// ignored field (applyIgnoreDifferences in applicationset/utils/createOrUpdate.go).
func (s setSpec) ignores(c Change) bool {
	applied := c.After.DeepCopy()
	isIgnored := false
	for _, entry := range s.IgnoreApplicationDifferences {
		if entry.Name == "" || entry.Name == c.After.GetName() {
			isIgnored = entry.restore(applied.Object, c.Before.Object) || isIgnored
		}
	}
	return isIgnored && Equal(c.Before, applied)
}

// deletesObjects reports whether a finalizer deletes the objects of an Application with it.
func deletesObjects(finalizer string) bool {
	return strings.HasPrefix(finalizer, "resources-finalizer.argocd.argoproj.io")
}
