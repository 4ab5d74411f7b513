package review

import (
	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
)

// reviewBuilds returns the effect of a new build of a kind, for the first family whose rendered objects
// change without a change of the spec. The controller compares live objects with the rendering of its own
// build.
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
		k := w.sourceKind(f.owner)
		if count[k]++; first[k] == nil {
			first[k] = f
		}
	}
	effects := map[*family][]kind.Effect{}
	for k, f := range first {
		effects[f] = []kind.Effect{{
			Type: BuildChanged, What: kind.Say("is rendered by another build of its kind: this changes %s", kind.Count(count[k], k.GVK().Kind)),
			Risk: "a controller of the previous build reports ControllerDiffers: roll out the controller of the same build",
		}}
	}
	return effects
}
