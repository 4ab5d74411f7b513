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
	nodes   *nodes
	links   links
	targets *targets
	parts   []*part
	// configured has the folders with configurations of their own, and the folders that load these.
	configured map[string]bool
	images     images
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
	files    []string          // loaded by an entry
}

// position is the place of a node in the source files.
type position struct {
	file  string
	field string // of a kustomization; empty for a document
	index int    // in the field, or in the file
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

// divide divides a build, or only the build of the objects of documents.
func divide(paths *buildpath.Paths, size int, documents ...*source.Tree) *Division {
	configurations, areRead := readConfigurations(paths)
	if !areRead || slices.ContainsFunc(configurations, mayIdentify) || !isDivisible(paths) {
		return nil
	}
	noStandIns := slices.ContainsFunc(configurations, movesValues) ||
		slices.ContainsFunc(slices.Collect(maps.Keys(paths.Loaded)), func(folder string) bool {
			return preventsStandIns(paths.Loaded[folder], paths.Patches[folder])
		})
	images := findImages(paths, configurations, noStandIns)
	nodes := readNodes(paths)
	changes, changed := findChanges(paths, nodes)
	pairs := slices.Concat(nodes.listed, findDuplicates(paths, nodes), changed)
	links := newLinks(nodes.all, pairs, changes, images.changes(paths, nodes))
	targets := findTargets(paths, nodes, configurations)
	divided := nodes.all
	if len(documents) > 0 {
		divided = nil
	}
	for _, document := range documents {
		divided = append(divided, links.groups[nodes.of[document]].nodes...)
	}
	return &Division{
		paths: paths, nodes: nodes, links: links, targets: targets,
		parts:      distribute(paths, divided, links, targets.references(divided), size),
		configured: findConfigured(paths), images: images, noStandIns: noStandIns,
	}
}

// findConfigured returns the folders with configurations of their own, and the folders that load these.
func findConfigured(paths *buildpath.Paths) map[string]bool {
	configured := map[string]bool{}
	var visit func(folder string)
	visit = func(folder string) {
		k := paths.Loaded[folder]
		isConfigured := len(ownConfigurations(k)) > 0
		for _, entry := range slices.Concat(k.Resources, k.Components) {
			if loaded := k.Paths[entry]; paths.Loaded[loaded] != nil {
				visit(loaded)
				isConfigured = isConfigured || configured[loaded]
			}
		}
		configured[folder] = isConfigured
	}
	visit(paths.Folder)
	return configured
}

// nodes are the nodes of a build.
type nodes struct {
	all     []*node                // in the order of the build, then the entries that generate nothing
	of      map[*source.Tree]*node // by document
	entries map[string]*entries    // by folder
	texts   map[string]int         // the number of texts in each manifest
	listed  []pair                 // the texts of each manifest with a List
}

func readNodes(paths *buildpath.Paths) *nodes {
	read := &nodes{of: map[*source.Tree]*node{}, entries: map[string]*entries{}, texts: map[string]int{}}
	for _, m := range paths.Sources.Manifests {
		read.texts[m.File] = len(m.Texts)
		hasList := slices.ContainsFunc(m.Texts, isList) // kustomize reads a List differently if it is alone
		var first *node
		for i, text := range m.Texts {
			n := &node{position: position{file: m.File, index: i}, text: text}
			if i == 0 {
				first = n
			} else if hasList {
				read.listed = append(read.listed, pair{n, first})
			}
			for _, o := range text.Objects {
				read.of[o.Tree] = n
			}
		}
	}
	var others []*node
	for _, folder := range slices.Sorted(maps.Keys(paths.Loaded)) {
		e := newEntries(paths, paths.Loaded[folder])
		read.entries[folder] = e
		for i, g := range paths.Generators[folder] { // the first entries
			read.of[g.Document.Tree] = e.all[i]
		}
		others = append(others, e.all...)
	}
	for i := range paths.All {
		path := &paths.All[i]
		n := read.of[path.Document.Tree]
		if len(n.paths) == 0 {
			read.all = append(read.all, n)
		}
		n.paths = append(n.paths, path)
		n.loadedBy = append(n.loadedBy, path.Folders)
	}
	for _, n := range others {
		if len(n.paths) == 0 {
			read.all = append(read.all, n)
		}
	}
	return read
}

func isList(text *source.Text) bool {
	return slices.ContainsFunc(text.Objects, func(o source.Document) bool {
		return o.Listed || manifest.IsListKind(o.Kind)
	})
}

// findDuplicates returns the nodes of objects that have the same ID when kustomize compares IDs: after each folder and
// at the end.
func findDuplicates(paths *buildpath.Paths, nodes *nodes) (duplicates []pair) {
	type id struct {
		rest string // the folders that are built later
		buildpath.NamedID
	}
	first := make(map[id]*node, 3*len(paths.All))
	for i := range paths.All {
		path := &paths.All[i]
		n := nodes.of[path.Document.Tree]
		for step, identities := range path.Steps {
			id := id{strings.Join(path.Folders[step:], "\n"),
				buildpath.NamedID{Gvk: path.GVK, Identity: identities[len(identities)-1]}}
			if other := first[id]; other != nil {
				duplicates = append(duplicates, pair{n, other})
			} else {
				first[id] = n
			}
		}
	}
	return duplicates
}

// distribute makes every node an own node of one part, and adds the context of each part. Environments that share bases
// share the parts of objects that depend on nothing else, so the groups of a part have one rank. A part may grow by
// half to end with a folder: kustomize reads the kustomization of a folder again for each part.
func distribute(paths *buildpath.Paths, nodes []*node, l links, references dependencies, partSize int) (parts []*part) {
	ranks := map[*group]int{} // with reference targets
	known := map[*group]int{}
	for _, n := range nodes {
		for _, on := range slices.Concat(references[n], []*node{n}) {
			ranks[l.groups[n]] = max(ranks[l.groups[n]], l.rank(l.groups[on], paths.Folder, known))
		}
	}
	nodes = slices.SortedStableFunc(slices.Values(nodes), func(a, b *node) int {
		return cmp.Compare(ranks[l.groups[a]], ranks[l.groups[b]])
	})
	isPlaced := map[*group]bool{}
	size := 2 * partSize
	folder := ""
	rank := 0
	for _, n := range nodes {
		g := l.groups[n]
		if isPlaced[g] {
			continue
		}
		if size >= partSize && n.loadedBy[0][0] != folder || size >= partSize+partSize/2 ||
			len(n.paths) > 0 && ranks[g] != rank {
			parts = append(parts, &part{nodes: map[*node]bool{}})
			size = 0
		}
		folder = n.loadedBy[0][0]
		rank = ranks[g]
		isPlaced[g] = true
		for _, member := range g.nodes {
			parts[len(parts)-1].nodes[member] = true
			size += len(member.paths)
		}
	}
	isLoaded := map[string]bool{}
	for _, p := range parts {
		for _, n := range slices.Collect(maps.Keys(p.nodes)) {
			p.addContext(l, references[n])
			p.addContext(l, l.needs[n])
		}
		maps.Copy(isLoaded, p.folders())
	}
	for folder := range paths.Loaded {
		if !isLoaded[folder] {
			parts[0].empty = append(parts[0].empty, paths.LoadedBy[folder]...)
		}
	}
	return parts
}

// addContext adds nodes to the context of the part, each with its group and all that these need.
func (p *part) addContext(l links, nodes []*node) {
	for _, n := range nodes {
		for _, member := range l.groups[n].nodes {
			if _, isThere := p.nodes[member]; !isThere {
				p.nodes[member] = false
				p.addContext(l, l.needs[member])
			}
		}
	}
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
