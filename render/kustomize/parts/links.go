package parts

import (
	"slices"

	"example.com/gatehouse/render/source"
)

// dependencies has the nodes on which each node depends.
type dependencies map[*node][]*node

// pair has two nodes that are built only together, since they may have the same object or target.
type pair [2]*node

// group is a set of nodes that are built only together.
type group struct{ nodes []*node }

// links has the nodes with which each node is built.
type links struct {
	groups map[*node]*group
	// needs has, for an object, the entries that may change it, and for an entry, the nodes whose values it copies.
	needs dependencies
}

// newLinks groups nodes, and all that they need, by pairs.
func newLinks(nodes []*node, pairs []pair, needs ...dependencies) links {
	l := links{map[*node]*group{}, dependencies{}}
	groupOf := func(n *node) *group {
		if l.groups[n] == nil {
			l.groups[n] = &group{[]*node{n}}
		}
		return l.groups[n]
	}
	for _, n := range nodes {
		groupOf(n)
	}
	for _, some := range needs {
		for n, on := range some {
			l.needs[n] = slices.Concat(l.needs[n], on)
			for _, member := range append(on, n) {
				groupOf(member)
			}
		}
	}
	for _, p := range pairs {
		from := groupOf(p[0])
		to := groupOf(p[1])
		if from == to {
			continue
		}
		if len(from.nodes) > len(to.nodes) {
			from, to = to, from
		}
		for _, n := range from.nodes {
			l.groups[n] = to
		}
		to.nodes = append(to.nodes, from.nodes...)
	}
	return l
}

// rank returns how far a group depends on the folder of the environment: not at all, on entries that change objects,
// or on objects and images, which hardly two environments share. It does not follow cycles.
func (l links) rank(g *group, folder string, known map[*group]int) int {
	if rank, isKnown := known[g]; isKnown {
		return rank
	}
	rank := 0
	known[g] = rank
	for _, n := range g.nodes {
		switch {
		case !source.IsWithin(n.file, folder):
		case n.text == nil && len(n.paths) == 0 && n.field != imagesField:
			rank = max(rank, 1)
		default:
			rank = 2
		}
		known[g] = rank
		for _, on := range l.needs[n] {
			rank = max(rank, l.rank(l.groups[on], folder, known))
			known[g] = rank
		}
	}
	return rank
}
