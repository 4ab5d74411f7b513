package reach

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review/selector"
)

// peerState is the labels of a peer. Without pods, it stands for all Pods of a Namespace.
type peerState struct {
	namespace labels.Set
	pods      *pods
}

// comparePeers compares the allows for changed Pods and Namespaces as peers.
func (r *reach) comparePeers() {
	peers := slices.Clone(r.peers)
	for _, name := range slices.Sorted(maps.Keys(r.namespaces)) {
		if o := r.namespaces[name]; o[after] != nil && o[before] != o[after] {
			peers = append(peers, podsChange{namespace: name, id: compare.IDOf(o[after]), isNew: o[before] == nil})
		}
	}
	for _, c := range peers {
		was := &peerState{r.labelsOf(before, c.namespace), c.was}
		is := &peerState{r.labelsOf(after, c.namespace), c.is}
		if c.isNew {
			was = nil
		}
		r.comparePeer(c.id, was, is)
	}
}

func (r *reach) labelsOf(side int, namespace string) labels.Set {
	own := labels.Set{}
	if o := r.namespaces[namespace][side]; o != nil {
		own = o.GetLabels()
	}
	return labels.Merge(own, labels.Set{corev1.LabelMetadataName: namespace})
}

// comparePeer notes the connections that policies allow for a changed peer, and no longer allow. A new peer
// is compared with the policies that have been there, if they select it and not all of its kind.
func (r *reach) comparePeer(cause manifest.ID, was, is *peerState) {
	for side, policies := range r.policies {
		if side == before && was == nil {
			continue
		}
		for _, namespace := range slices.Sorted(maps.Keys(policies)) {
			for _, p := range policies[namespace] {
				if was == nil &&
					(p.isChanged || is.pods == nil && namespace == is.namespace[corev1.LabelMetadataName]) {
					continue
				}
				r.compareAllowances(cause, p, was, is, side == before)
			}
		}
	}
}

// compareAllowances notes the difference of a policy for a changed peer. All Pods of a Namespace are compared
// for each allowance, because another one may be for some of them only.
func (r *reach) compareAllowances(cause manifest.ID, p *networkPolicy, was, is *peerState, isBlocked bool) {
	from := was
	to := is
	isNew := was == nil
	if isBlocked {
		from = is
		to = was
	}
	for side, allows := range p.allows {
		d := direction(side)
		var more []portRange
		if is.pods != nil {
			more = uncovered(r.portsFor(allows, d, to, nil, isNew), r.portsFor(allows, d, from, nil, false))
		} else {
			for i, g := range allows {
				if has := r.portsFor(allows[i:i+1], d, to, g.peer.pods, isNew); len(has) > 0 {
					more = append(more, uncovered(has, r.portsFor(allows, d, from, g.peer.pods, false))...)
				}
			}
		}
		if len(more) > 0 && !r.budget.IsExceeded {
			r.add(note{cause, d, isBlocked}, "its Pods"+sayPorts(sorted(more)),
				kind.Say("the Pods that %s selects", p.id))
		}
	}
}

// portsFor returns the ports that allowances have for a peer. For all Pods of a Namespace, they are the ports
// for all Pods that a selector matches.
func (r *reach) portsFor(allows []allowance, d direction, of *peerState, selected *selector.Selector,
	isSpecific bool) (ports []portRange) {
	if of == nil {
		return nil
	}
	for _, g := range allows {
		if g.peer.block.IsValid() || isSpecific && !g.peer.isSpecific(of) || !r.allows(g, of, selected) {
			continue
		}
		if d == outward && of.pods != nil {
			ports = append(ports, resolve(g.ports, of.pods.ports)...)
		} else {
			ports = append(ports, g.ports...)
		}
	}
	return sorted(ports)
}

// isSpecific reports whether the selector for the Namespace, or for the Pods, excludes any.
func (p peer) isSpecific(of *peerState) bool {
	if p.pods == nil || of.pods != nil {
		return p.pods != nil && len(p.pods.Texts) > 0
	}
	return len(p.namespaces.Texts) > 0
}

// allows reports whether an allowance has a peer.
func (r *reach) allows(g allowance, of *peerState, selected *selector.Selector) bool {
	switch {
	case g.peer.pods == nil:
		return true
	case !r.budget.Spend(1+g.peer.namespaces.Cost+g.peer.pods.Cost+len(g.ports)) ||
		!g.peer.namespaces.Matches(of.namespace):
		return false
	case of.pods == nil:
		return selected != nil && g.peer.pods.Covers(selected)
	}
	return g.peer.pods.Matches(of.pods.labels)
}

// compareUnknownPods compares Pods with the labels in changed policies: other tools may create them. It
// does so for policies without an effect on known Pods.
func (r *reach) compareUnknownPods(namespace string) {
	known := make([]labels.Set, 0, len(r.workloads[namespace]))
	for _, o := range r.workloads[namespace] {
		for _, t := range r.both.Templates(o[after]) {
			known = append(known, t.Labels)
		}
	}
	for _, pair := range r.changed[namespace] {
		if p := cmp.Or(pair[after], pair[before]); p == nil || r.notes[note{p.id, inward, false}] != nil ||
			r.notes[note{p.id, outward, false}] != nil {
			continue
		}
		isKnown := slices.ContainsFunc(known, func(set labels.Set) bool {
			return slices.ContainsFunc(pair[:], func(p *networkPolicy) bool {
				return p != nil && r.budget.Spend(p.selector.Cost) && p.selector.Matches(set)
			})
		})
		for _, set := range examples(pair) {
			name := kind.Sentence("all Pods without labels")
			if len(set) > 0 {
				name = kind.Say("all Pods with %s", set)
			}
			unknown := &pods{labels: set}
			r.compare(podsChange{namespace: namespace, name: name, was: unknown, is: unknown, isNew: isKnown})
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
