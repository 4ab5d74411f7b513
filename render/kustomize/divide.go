package kustomize

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// kustomize compares each object with all others, many times, so its time grows with the
// square of their number. But what it makes of an object depends on few others: those that the
// object may refer to by name, those whose values are copied into it, and those that one entry
// of a kustomization is about. Each is therefore built in a part: by the same kustomizations,
// without the documents and entries that do not matter to the objects of the part. Where that
// is not known, all objects are built as a whole.

// partSize is how many objects are built at a time: with fewer, kustomize spends its time on
// starting, with more on comparing. A build of less than minParts parts is not divided.
const (
	partSize = 32
	minParts = 3
)

// division is a build in parts.
type division struct {
	*Ways
	nodes     []*node
	nodeOf    map[*yaml.Node]*node // by the document of an object
	entries   map[string]*entries  // by folder
	referents referents
	parts     []*part
	// configured are the folders with configurations, and those that load them.
	configured map[string]bool
	size       map[string]int // of manifests, by file, in texts
}

// node is what a part may lack: a YAML document of a manifest, or an entry of a kustomization
// that generates, patches, scales or replaces something.
type node struct {
	position
	text *source.Text // nil for an entry
	ways []*Way       // of its objects
	// outward are the folders that load it.
	outward [][]string
	// group has the nodes that are built only together.
	group *group
	// needs are entries that may change its objects, or what an entry copies from.
	needs []*node
	// names are those that its objects have while they are built, and refersTo the documents whose names
	// they may hold.
	names    []string
	refersTo []*node
	// loads are the files that an entry loads.
	loads []string
}

// position is where a node is written.
type position struct {
	file  string
	field string // of a kustomization; empty for a document
	index int    // in the field, or in the file
}

// group is a set of nodes that are built only together, as two of them may be, or may be about,
// the same object.
type group struct {
	nodes  []*node
	isDone bool // it is in a part
}

// part is some of the nodes of a build. What it has only because others need it is not taken
// from its result.
type part struct {
	nodes map[*node]bool // and whether it is taken
	// empty are folders that load nothing of it.
	empty [][]string
}

// divide divides the build of a folder; nil where it has to be built as a whole.
func divide(w *Ways, partSize int) *division {
	if len(w.All) < minParts*partSize || !w.isDivisible() {
		return nil
	}
	d := &division{Ways: w, nodeOf: map[*yaml.Node]*node{}, entries: map[string]*entries{}, configured: map[string]bool{}, size: map[string]int{}}
	d.findConfigured(w.folder)
	d.addNodes()
	d.joinSame()
	d.findChanges()
	d.findReferents()
	d.findReferences()
	d.distribute(partSize)
	return d
}

// findConfigured finds the configured folders among one and those that it loads, and reports
// whether it is itself.
func (d *division) findConfigured(folder string) bool {
	k := d.loaded[folder]
	isConfigured := len(ownConfigurations(k)) > 0
	for _, entry := range slices.Concat(k.Resources, k.Components) {
		if loaded := k.Paths[entry]; d.loaded[loaded] != nil {
			isConfigured = d.findConfigured(loaded) || isConfigured
		}
	}
	d.configured[folder] = isConfigured
	return isConfigured
}

// addNodes adds the nodes of the build, in the order in which it loads them, those that make no
// objects last.
func (d *division) addNodes() {
	texts := map[*yaml.Node]*node{}
	for _, m := range d.sources.Manifests {
		d.size[m.File] = len(m.Texts)
		hasList, whole := slices.ContainsFunc(m.Texts, isList), &group{} // a List is read otherwise if it is alone
		for i, text := range m.Texts {
			n := &node{position: position{file: m.File, index: i}, text: text, group: &group{}}
			if hasList {
				n.group = whole
			}
			n.group.nodes = append(n.group.nodes, n)
			for _, o := range text.Objects {
				texts[o.Node] = n
			}
		}
	}
	var others []*node
	for _, folder := range slices.Sorted(maps.Keys(d.loaded)) {
		e := d.newEntries(d.loaded[folder])
		d.entries[folder] = e
		for i, g := range d.generators[folder] { // the first entries
			texts[g.document.Node] = e.all[i]
		}
		others = append(others, e.all...)
	}
	for i := range d.All {
		way := &d.All[i]
		n := texts[way.Document.Node]
		if d.nodeOf[way.Document.Node] = n; len(n.ways) == 0 {
			d.nodes = append(d.nodes, n)
		}
		n.ways = append(n.ways, way)
		n.outward = append(n.outward, way.Folders)
	}
	for _, n := range others {
		if len(n.ways) == 0 {
			d.nodes = append(d.nodes, n)
		}
	}
}

// isList reports whether a text is a List.
func isList(text *source.Text) bool {
	return slices.ContainsFunc(text.Objects, func(o source.Document) bool { return o.Listed || manifest.IsListKind(o.Kind) })
}

// join has two nodes built only together.
func join(a, b *node) {
	from, to := a.group, b.group
	if from == to {
		return
	}
	if len(from.nodes) > len(to.nodes) {
		from, to = to, from
	}
	for _, n := range from.nodes {
		n.group = to
	}
	to.nodes = append(to.nodes, from.nodes...)
}

// joinSame joins the nodes of objects that have one ID where kustomize wants to tell them apart:
// when a folder is loaded, and in the end.
func (d *division) joinSame() {
	type id struct {
		after string // the folders that change the object afterwards
		gvk   resid.Gvk
		identity
	}
	first := make(map[id]*node, 3*len(d.All))
	for i := range d.All {
		way := &d.All[i]
		n := d.nodeOf[way.Document.Node]
		for stage, identities := range way.stages {
			id := id{strings.Join(way.Folders[stage:], "\n"), way.gvk, identities[len(identities)-1]}
			if other := first[id]; other != nil {
				join(n, other)
			} else {
				first[id] = n
			}
		}
	}
}

// distribute puts every node into the part that its objects are taken from. A part may grow by half to end
// where a folder does: kustomize reads the kustomization of each folder for each part.
func (d *division) distribute(partSize int) {
	size, folder := 2*partSize, ""
	for _, n := range d.nodes {
		if n.group.isDone {
			continue
		}
		if size >= partSize && n.outward[0][0] != folder || size >= partSize+partSize/2 {
			d.parts = append(d.parts, &part{nodes: map[*node]bool{}})
			size = 0
		}
		folder = n.outward[0][0]
		n.group.isDone = true
		for _, member := range n.group.nodes {
			d.parts[len(d.parts)-1].nodes[member] = true
			size += len(member.ways)
		}
	}
	isLoaded := map[string]bool{}
	for _, p := range d.parts {
		for _, n := range slices.Collect(maps.Keys(p.nodes)) {
			p.add(n.refersTo)
			p.add(n.needs)
		}
		maps.Copy(isLoaded, p.folders())
	}
	for folder := range d.loaded { // it may be wrong even where it is empty
		if !isLoaded[folder] {
			d.parts[0].empty = append(d.parts[0].empty, d.outward[folder]...)
		}
	}
}

// add adds nodes that others need, and what these need, but nothing that is taken.
func (p *part) add(needed []*node) {
	for _, n := range needed {
		for _, member := range n.group.nodes {
			if _, isThere := p.nodes[member]; !isThere {
				p.nodes[member] = false
				p.add(member.needs)
			}
		}
	}
}

// folders returns the folders that load the nodes of a part.
func (p *part) folders() map[string]bool {
	found := map[string]bool{}
	add := func(outward [][]string) {
		for _, folders := range outward {
			for _, folder := range folders {
				found[folder] = true
			}
		}
	}
	add(p.empty)
	for n, isTaken := range p.nodes {
		if isTaken || len(n.ways) > 0 {
			add(n.outward)
		}
	}
	return found
}

// isWorthwhile reports whether kustomize compares fewer pairs of objects in the parts than in all.
func (d *division) isWorthwhile() bool {
	count := 0
	for _, p := range d.parts {
		size := 0
		for n := range p.nodes {
			size += len(n.ways)
		}
		count += size * size
	}
	return count < len(d.All)*len(d.All)
}
