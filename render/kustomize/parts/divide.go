package parts

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// Division is a build in parts.
type Division struct {
	paths   *buildpath.Paths
	nodes   []*node
	nodeOf  map[*source.Tree]*node // by the document of a build path
	entries map[string]*entries    // by folder
	targets targets
	parts   []*part
	// configured has the folders with configurations of their own, and the folders that load these.
	configured map[string]bool
	// configurations are the files of the repository that the build loads.
	configurations []source.Configuration
	texts          map[string]int // the number of texts in each manifest
	images         images
	// noStandIns is true if an entry copies namespaces or labels, matches them by a pattern or writes them to other
	// fields, or if the objects name their files.
	noStandIns bool
}

// node is the smallest piece of a build that a part may lack: a YAML document of a manifest, or an
// entry of a kustomization that generates, patches, scales or replaces something.
type node struct {
	position
	text     *source.Text      // nil for an entry
	paths    []*buildpath.Path // of its objects
	loadedBy [][]string        // see buildpath.Paths
	group    *group
	// changedBy are the entries that may change the objects of the node, and copiesFrom the nodes whose
	// values an entry copies.
	changedBy, copiesFrom []*node
	// names are all names that the objects have during the build, and refersTo the reference targets that the
	// source objects may name.
	names    []string
	refersTo []*node
	files    []string // loaded by an entry
}

// position is the place of a node in the source files.
type position struct {
	file  string
	field string // of a kustomization; empty for a document
	index int    // in the field, or in the file
}

// group is a set of nodes that are built only together, since they may have the same object or target.
type group struct {
	nodes    []*node
	isPlaced bool // in a part
	isRanked bool
	rank     int // see rankOf
}

// part is a set of nodes.
type part struct {
	nodes map[*node]bool // true for its own nodes, false for its context
	// empty lists the folders without nodes, each with the folders that load it. kustomize may still refuse them.
	empty [][]string
}

// Divide divides a build into parts of about size objects. It returns nil if everything has to be
// built at once.
func Divide(paths *buildpath.Paths, size int) *Division {
	if len(paths.All) < minParts*size {
		return nil
	}
	return divide(paths, size)
}

// Of returns the parts with the objects of documents, or nil if everything has to be built at once.
func Of(paths *buildpath.Paths, documents ...*source.Tree) *Division {
	return divide(paths, Size, documents...)
}

// divide divides a build, or only that of the objects of documents.
func divide(paths *buildpath.Paths, size int, documents ...*source.Tree) *Division {
	configurations, areRead := readConfigurations(paths)
	if !areRead || slices.ContainsFunc(configurations, mayIdentify) || !isDivisible(paths) {
		return nil
	}
	d := &Division{paths: paths, configurations: configurations, nodeOf: map[*source.Tree]*node{},
		entries: map[string]*entries{}, configured: map[string]bool{}, texts: map[string]int{}}
	d.findConfigured(paths.Folder)
	d.noStandIns = slices.ContainsFunc(configurations, movesValues)
	d.addNodes()
	d.joinDuplicates()
	d.findChanges()
	d.findImages()
	d.findTargets()
	d.findReferences()
	if len(documents) > 0 {
		d.nodes = nil
	}
	for _, document := range documents {
		d.nodes = append(d.nodes, d.nodeOf[document].group.nodes...)
	}
	d.distribute(size)
	return d
}

// findConfigured finds the configured folders from one inwards. It reports whether that one is configured.
func (d *Division) findConfigured(folder string) bool {
	k := d.paths.Loaded[folder]
	isConfigured := len(ownConfigurations(k)) > 0
	for _, entry := range slices.Concat(k.Resources, k.Components) {
		if loaded := k.Paths[entry]; d.paths.Loaded[loaded] != nil {
			isConfigured = d.findConfigured(loaded) || isConfigured
		}
	}
	d.configured[folder] = isConfigured
	return isConfigured
}

// addNodes adds the nodes in the order of the build. Entries that generate nothing come last.
func (d *Division) addNodes() {
	nodeOf := map[*source.Tree]*node{}
	for _, m := range d.paths.Sources.Manifests {
		d.texts[m.File] = len(m.Texts)
		// kustomize reads a List differently if it is alone
		hasList, whole := slices.ContainsFunc(m.Texts, isList), &group{}
		for i, text := range m.Texts {
			n := &node{position: position{file: m.File, index: i}, text: text, group: &group{}}
			if hasList {
				n.group = whole
			}
			n.group.nodes = append(n.group.nodes, n)
			for _, o := range text.Objects {
				nodeOf[o.Tree] = n
			}
		}
	}
	var others []*node
	for _, folder := range slices.Sorted(maps.Keys(d.paths.Loaded)) {
		e := newEntries(d.paths, d.paths.Loaded[folder])
		d.entries[folder] = e
		d.noStandIns = d.noStandIns || d.preventsStandIns(folder)
		for i, g := range d.paths.Generators[folder] { // the first entries
			nodeOf[g.Document.Tree] = e.all[i]
		}
		others = append(others, e.all...)
	}
	for i := range d.paths.All {
		path := &d.paths.All[i]
		n := nodeOf[path.Document.Tree]
		if d.nodeOf[path.Document.Tree] = n; len(n.paths) == 0 {
			d.nodes = append(d.nodes, n)
		}
		n.paths = append(n.paths, path)
		n.loadedBy = append(n.loadedBy, path.Folders)
	}
	for _, n := range others {
		if len(n.paths) == 0 {
			d.nodes = append(d.nodes, n)
		}
	}
}

func isList(text *source.Text) bool {
	return slices.ContainsFunc(text.Objects, func(o source.Document) bool {
		return o.Listed || manifest.IsListKind(o.Kind)
	})
}

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

// joinDuplicates joins the nodes of objects that have the same ID when kustomize compares IDs: after
// each folder and at the end.
func (d *Division) joinDuplicates() {
	type id struct {
		rest string // the folders that are built later
		buildpath.NamedID
	}
	first := make(map[id]*node, 3*len(d.paths.All))
	for i := range d.paths.All {
		path := &d.paths.All[i]
		n := d.nodeOf[path.Document.Tree]
		for step, identities := range path.Steps {
			id := id{strings.Join(path.Folders[step:], "\n"),
				buildpath.NamedID{Gvk: path.GVK, Identity: identities[len(identities)-1]}}
			if other := first[id]; other != nil {
				join(n, other)
			} else {
				first[id] = n
			}
		}
	}
}

// rankOf returns how far a group depends on the folder of the environment: not at all, on entries that change objects,
// or on objects and images, which hardly two environments share. It does not follow cycles.
func (d *Division) rankOf(g *group) int {
	if g.isRanked {
		return g.rank
	}
	g.isRanked = true
	for _, n := range g.nodes {
		switch {
		case !source.IsWithin(n.file, d.paths.Folder):
		case n.text == nil && len(n.paths) == 0 && n.field != imagesField:
			g.rank = max(g.rank, 1)
		default:
			g.rank = 2
		}
		for _, on := range slices.Concat(n.changedBy, n.copiesFrom) {
			g.rank = max(g.rank, d.rankOf(on.group))
		}
	}
	return g.rank
}

// distribute makes every node an own node of one part, and adds the context of each part. Environments that share bases
// share the parts of objects that depend on nothing else, so the groups of a part have one rank. A part may grow by
// half to end with a folder: kustomize reads the kustomization of a folder again for each part.
func (d *Division) distribute(partSize int) {
	ranks := map[*group]int{} // with reference targets
	for _, n := range d.nodes {
		for _, on := range append(n.refersTo, n) {
			ranks[n.group] = max(ranks[n.group], d.rankOf(on.group))
		}
	}
	slices.SortStableFunc(d.nodes, func(a, b *node) int { return cmp.Compare(ranks[a.group], ranks[b.group]) })
	size, folder, rank := 2*partSize, "", 0
	for _, n := range d.nodes {
		if n.group.isPlaced {
			continue
		}
		if size >= partSize && n.loadedBy[0][0] != folder || size >= partSize+partSize/2 ||
			len(n.paths) > 0 && ranks[n.group] != rank {
			d.parts = append(d.parts, &part{nodes: map[*node]bool{}})
			size = 0
		}
		folder, rank = n.loadedBy[0][0], ranks[n.group]
		n.group.isPlaced = true
		for _, member := range n.group.nodes {
			d.parts[len(d.parts)-1].nodes[member] = true
			size += len(member.paths)
		}
	}
	isLoaded := map[string]bool{}
	for _, p := range d.parts {
		for _, n := range slices.Collect(maps.Keys(p.nodes)) {
			p.addContext(n.refersTo)
			p.addDependencies(n)
		}
		maps.Copy(isLoaded, p.folders())
	}
	for folder := range d.paths.Loaded {
		if !isLoaded[folder] {
			d.parts[0].empty = append(d.parts[0].empty, d.paths.LoadedBy[folder]...)
		}
	}
}

// addContext adds nodes to the context of the part, each with its group and dependencies.
func (p *part) addContext(nodes []*node) {
	for _, n := range nodes {
		for _, member := range n.group.nodes {
			if _, isThere := p.nodes[member]; !isThere {
				p.nodes[member] = false
				p.addDependencies(member)
			}
		}
	}
}

// addDependencies adds to the context the entries that may change a node, and the nodes that it copies from.
func (p *part) addDependencies(n *node) {
	p.addContext(n.changedBy)
	p.addContext(n.copiesFrom)
}

func (p *part) folders() map[string]bool {
	found := map[string]bool{}
	add := func(loadedBy [][]string) {
		for _, folders := range loadedBy {
			for _, folder := range folders {
				found[folder] = true
			}
		}
	}
	add(p.empty)
	for n, isOwn := range p.nodes {
		if isOwn || len(n.paths) > 0 {
			add(n.loadedBy)
		}
	}
	return found
}
