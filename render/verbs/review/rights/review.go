package rights

import (
	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
)

// Review returns the effects of a change that gives rights: on subjects of bindings, and on Pods and
// Secrets that get the rights of a ServiceAccount.
func Review(w *world.World) (effects []effect.Effect) {
	r := newComparison(w)
	isTold := map[string]bool{}
	for _, change := range w.Changes {
		if change.After == nil {
			continue
		}
		o := world.IDOf(change.After)
		if owner, ok := diff.OwnerOf(w.Kinds, change.After); ok && w.After.Owners[owner] != nil && w.Kinds.IsImmutable(change.After) {
			o = owner
		}
		for _, e := range []kind.Effect{r.reviewPods(w, change), r.reviewToken(change), reviewCloudRoles(change)} {
			e = ifForced(w, world.IDOf(change.After), e)
			if told := o.String() + string(e.What); e.Type != "" && !isTold[told] { // once for several Pods
				effects, isTold[told] = append(effects, effect.Effect{Object: o, Effect: e}), true
			}
		}
	}
	return append(effects, r.subjects(w)...)
}
