package review

import (
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
)

// reviewBuilds returns the effect of another build of a kind, by the first of the families that it
// renders to something else than before though their specs stay the same: the controller compares
// what is in a cluster with what its own build renders.
func (w *world) reviewBuilds(families []*family) map[*family][]kind.Effect {
	first, count := map[*kind.Kind]*family{}, map[*kind.Kind]int64{}
	for _, f := range families {
		if f.before == nil || f.after == nil {
			continue
		}
		was, is := registry.RenderingOf(f.before), registry.RenderingOf(f.after)
		if was.Spec != is.Spec || was.Objects == is.Objects || was.Objects == "" {
			continue
		}
		k := w.writtenKind(f.owner)
		if count[k]++; first[k] == nil {
			first[k] = f
		}
	}
	effects := map[*family][]kind.Effect{}
	for k, f := range first {
		effects[f] = []kind.Effect{{
			Type: BuildChanged, What: kind.Say("is rendered by another build of its kind, which changes %s", kind.Count(count[k], k.GVK().Kind)),
			Risk: "a controller of the build before reports ControllerDiffers: roll out that of the same build",
		}}
	}
	return effects
}
