package review

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/crd"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/render/review/guards"
)

// reviewUnproven returns the effects of charts whose change no rendering shows as a whole.
func reviewUnproven(both *compare.Comparison) (effects []effect.Effect) {
	for _, id := range slices.SortedFunc(maps.Keys(both.Unproven), effect.CompareObjects) {
		effects = append(effects, effect.Of(id, kind.Effect{Type: effect.ChartUnproven,
			What: kind.Say("has another %s in its chart, which asks the cluster, the clock or chance, or did not run: "+
				"no row shows all that it installs", effect.Quote(both.Unproven[id]))})...)
	}
	return effects
}

// reviewMoved returns the effects of objects that another delivery brings than before. The former one may delete an
// object before the new one applies it.
func reviewMoved(both *compare.Comparison) (effects []effect.Effect) {
	name := func(id manifest.ID) kind.Sentence {
		if id == (manifest.ID{}) {
			return "the entry of the environment"
		}
		return kind.Say("%s", id.String())
	}
	for _, m := range both.Moved {
		e := effect.Of(m.Object.ID(), kind.Effect{Type: effect.ObjectMoved,
			What: "moves from " + name(m.From) + " to " + name(m.To)})[0]
		gone := compare.Change{Before: m.Object.Unstructured, InstalledBy: m.From}
		lost, severity := guards.Loss(both, gone)
		if crd.Is(m.Object.Unstructured) && compare.KeptBy(gone) == nil {
			lost = "all objects of its kind are deleted with it"
			severity = effect.Grave
		}
		if severity >= effect.Grave && prunes(both, m.From) {
			e.AddRisk("the former may delete it before the other applies it: "+lost, severity)
		}
		effects = append(effects, e)
	}
	return effects
}

// prunes reports whether a delivery may delete an object that it no longer brings.
func prunes(both *compare.Comparison, by manifest.ID) bool {
	for _, o := range both.Before().Objects {
		if compare.IDOf(o) != by {
			continue
		}
		isSet, is, _ := unstructured.NestedBool(o.Object, "spec", "prune")
		automated, _, _ := unstructured.NestedBool(o.Object, "spec", "syncPolicy", "automated", "prune")
		switch o.GetKind() {
		case "Kustomization":
			return is && isSet
		case "Application":
			return automated
		}
	}
	return true
}
