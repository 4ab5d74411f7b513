package reach

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/review/effect"
)

func selectorOf(service *unstructured.Unstructured) labels.Set {
	set, _, _ := unstructured.NestedStringMap(service.Object, "spec", "selector")
	return set
}

// reviewBackends returns the effects on changed Pods that Services newly select or no longer select.
func (r *reach) reviewBackends() {
	for _, c := range r.peers {
		for _, service := range r.services[c.namespace] {
			set := selectorOf(service)
			if !r.budget.Spend(1+len(set)) || len(set) == 0 {
				continue
			}
			selects := labels.SelectorFromSet(set)
			was := !c.isNew && selects.Matches(c.was.labels)
			is := selects.Matches(c.is.labels)
			e := kind.Effect{Type: effect.RouteOpened, What: kind.Say("%s routes to its Pods", compare.IDOf(service)),
				Risk: "clients of this Service reach them"}
			switch {
			case was == is:
				continue
			case was:
				e = kind.Effect{Type: effect.RouteRemoved,
					What: kind.Say("%s no longer routes to its Pods", compare.IDOf(service)),
					Risk: "clients of this Service cannot reach them"}
			case slices.Contains([]string{"NodePort", "LoadBalancer"}, compare.Text(service, "spec", "type")):
				e.Risk = "its Pods are reachable from outside of the cluster"
			}
			r.effects = append(r.effects, effect.Of(c.id, e)...)
		}
	}
}
