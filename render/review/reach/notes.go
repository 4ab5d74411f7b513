package reach

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/effect"
)

// note is the key of connections that one effect tells.
type note struct {
	cause     manifest.ID
	direction direction
	isBlocked bool
}

func sayAllowances(allows []allowed) kind.Sentence {
	var said []kind.Sentence
	for _, g := range allows {
		if one := g.peer.name + sayPorts(g.ports); !slices.Contains(said, one) && len(g.ports) > 0 {
			said = append(said, one)
		}
	}
	return effect.List(said)
}

func (r *reach) add(n note, peers, target kind.Sentence) {
	if r.notes[n] == nil {
		r.notes[n] = map[kind.Sentence][]kind.Sentence{}
	}
	if targets := r.notes[n][peers]; len(targets) == 0 || targets[len(targets)-1] != target {
		r.notes[n][peers] = append(targets, target)
	}
}

func (r *reach) tellNotes() (effects []effect.Effect) {
	isRemoved := map[manifest.ID]bool{}
	for _, c := range r.both.Changes {
		isRemoved[c.Object().ID()] = c.After == nil
	}
	for n, connections := range r.notes {
		e := effect.Effect{Object: n.cause,
			Effect: kind.Effect{Type: effect.ReachOpened, What: sayConnections(n.direction, connections) +
				" are allowed", Risk: "NetworkPolicies blocked them before"}}
		if n.isBlocked {
			e.Type = effect.ReachBlocked
			e.What = sayConnections(n.direction, connections) + " are blocked"
			e.Risk = "they were allowed before"
		}
		if isRemoved[n.cause] {
			e.What = "is removed: " + e.What
		}
		effects = append(effects, e)
	}
	slices.SortFunc(effects, func(a, b effect.Effect) int {
		return cmp.Or(effect.CompareObjects(a.Object, b.Object), strings.Compare(string(a.What), string(b.What)))
	})
	if !r.budget.IsExceeded {
		return effects
	}
	return append(effects, r.uncompared()...)
}

// sayConnections lists connections, joined by Pods.
func sayConnections(d direction, connections map[kind.Sentence][]kind.Sentence) kind.Sentence {
	byTarget := map[kind.Sentence][]kind.Sentence{}
	for _, peers := range slices.Sorted(maps.Keys(connections)) {
		targets := effect.List(connections[peers])
		byTarget[targets] = append(byTarget[targets], peers)
	}
	said := make([]kind.Sentence, 0, len(byTarget))
	for _, targets := range slices.Sorted(maps.Keys(byTarget)) {
		peers := byTarget[targets]
		slices.SortStableFunc(peers, func(a, b kind.Sentence) int {
			return -cmp.Compare(strings.Index(string(a), "everywhere"), strings.Index(string(b), "everywhere"))
		})
		from := effect.List(peers)
		to := targets
		if d == outward {
			from, to = to, from
		}
		said = append(said, "connections from "+from+" to "+to)
	}
	return effect.List(said)
}

// uncompared returns the effect of an incomplete comparison, on all changed policies or on the first changed
// Pods or Namespace.
func (r *reach) uncompared() (effects []effect.Effect) {
	e := kind.Effect{Type: effect.ReachOpened, What: "changes connections",
		Risk: "its environment has too many NetworkPolicies and Pods to compare all connections"}
	for _, c := range r.both.Changes {
		switch id := c.Object().ID(); {
		case compare.KindOf(c.Object().Unstructured) == "NetworkPolicy.networking.k8s.io", len(r.changed) == 0 &&
			len(effects) == 0 && (id.Kind == "Namespace" || manifest.MakesPods(c.Object().Unstructured)):
			effects = append(effects, effect.Of(id, e)...)
		}
	}
	return effects
}
