package reach

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/review/world"
)

// peerState is the labels of a peer. Without pods, it stands for all Pods of a Namespace.
type peerState struct {
	namespace labels.Set
	pods      *pods
}

// comparePeers compares the allows for changed Pods and Namespaces as peers.
func (r *reach) comparePeers() {
	for _, namespace := range slices.Sorted(maps.Keys(r.peers)) {
		for _, c := range r.peers[namespace] {
			was, is := &peerState{r.labelsOf(before, namespace), c.was}, &peerState{r.labelsOf(after, namespace), c.is}
			if c.isNew {
				was = nil
			}
			r.comparePeer(c.id, was, is)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.namespaces)) {
		was, is := &peerState{r.labelsOf(before, name), nil}, &peerState{r.labelsOf(after, name), nil}
		switch o := r.namespaces[name]; {
		case o[after] == nil || o[before] == o[after]:
		case o[before] == nil:
			r.comparePeer(world.IDOf(o[after]), nil, is)
		default:
			r.comparePeer(world.IDOf(o[after]), was, is)
		}
	}
}

// labelsOf returns the labels of a Namespace.
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
				if was == nil && (p.isChanged || is.pods == nil && namespace == is.namespace[corev1.LabelMetadataName]) {
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
	from, to, isNew := was, is, was == nil
	if isBlocked {
		from, to = is, was
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
		if len(more) > 0 && r.spend(0) {
			r.add(note{cause, d, isBlocked}, "its Pods"+sayPorts(sorted(more)), kind.Say("the Pods that %s selects", p.id))
		}
	}
}

// portsFor returns the ports that allowances have for a peer. For all Pods of a Namespace, they are the ports
// for all Pods that a selector matches.
func (r *reach) portsFor(allows []allowance, d direction, of *peerState, selected *labelSelector, isSpecific bool) (ports []portRange) {
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
		return p.pods != nil && len(p.pods.requirements) > 0
	}
	return len(p.namespaces.requirements) > 0
}

// allows reports whether an allowance has a peer.
func (r *reach) allows(g allowance, of *peerState, selected *labelSelector) bool {
	switch {
	case g.peer.pods == nil:
		return true
	case !r.spend(1+g.peer.namespaces.cost+g.peer.pods.cost+len(g.ports)) || !g.peer.namespaces.Matches(of.namespace):
		return false
	case of.pods == nil:
		return selected != nil && g.peer.pods.covers(selected)
	}
	return g.peer.pods.Matches(of.pods.labels)
}
