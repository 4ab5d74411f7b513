package reach

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"example.com/gatehouse/kind"
)

// compareUnknownPods compares Pods with the labels in changed policies: other tools may create them. It
// does so for policies without an effect on known Pods.
func (r *reach) compareUnknownPods(namespace string) {
	known := make([]labels.Set, 0, len(r.workloads[namespace]))
	for _, o := range r.workloads[namespace] {
		known = append(known, readPods(o[after]).labels)
	}
	for _, pair := range r.changed[namespace] {
		if p := cmp.Or(pair[after], pair[before]); p == nil || r.notes[note{p.id, inward, false}] != nil || r.notes[note{p.id, outward, false}] != nil {
			continue
		}
		isKnown := slices.ContainsFunc(known, func(set labels.Set) bool {
			return slices.ContainsFunc(pair[:], func(p *networkPolicy) bool { return p != nil && r.spend(p.selector.cost) && p.selector.Matches(set) })
		})
		for _, set := range examples(pair) {
			name := kind.Sentence("all Pods without labels")
			if len(set) > 0 {
				name = kind.Say("all Pods with %s", set)
			}
			unknown := &pods{labels: set}
			r.compare(namespace, podsChange{name: name, was: unknown, is: unknown, isNew: isKnown})
		}
	}
}

// examples returns labels that a selector of a policy mentions, in combinations that tell the selectors
// before and after a change apart.
func examples(pair [2]*networkPolicy) (sets []labels.Set) {
	var requirements [2]labels.Requirements
	for side, p := range pair {
		if p != nil {
			requirements[side], _ = p.selector.Requirements()
		}
	}
	for side, p := range pair {
		if p == nil {
			continue
		}
		set := labels.Set{}
		for _, r := range requirements[side] {
			switch r.Operator() {
			case selection.In, selection.Equals, selection.DoubleEquals:
				set[r.Key()] = r.Values().List()[0]
			case selection.Exists:
				set[r.Key()] = cmp.Or(set[r.Key()], "any")
			}
		}
		sets = append(sets, set)
		for _, r := range slices.Concat(requirements[:]...) {
			values := r.Values().List()
			if len(values) == 0 {
				values = []string{"any"}
			}
			for _, value := range values {
				sets = append(sets, labels.Merge(set, labels.Set{r.Key(): value}))
			}
		}
	}
	return sets
}
