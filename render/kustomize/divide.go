package kustomize

import (
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render/source"
)

// kustomize compares each object with all others, many times, so its time grows with the
// square of their number. Most objects are specs: objects of the kinds that something is
// rendered from. They are built apart, a few at a time, by the same kustomizations without
// what concerns other objects. What a spec may refer to is built along with it. A spec that
// anything may refer to, or that may depend on another object, is built with the rest. Where
// that is not known, all objects are built as a whole.

// partSize is how many specs are built at a time: with fewer, kustomize spends its time on
// starting, with more on comparing. A build of less than minParts parts is not divided.
const (
	partSize = 32
	minParts = 3
)

// division is a build in parts.
type division struct {
	*Ways
	specKinds  []string // the kinds of specs, whatever their groups
	references references
	waysOf     map[*yaml.Node][]*Way  // by the node of their document
	size       map[string]int         // of manifests, by file, in texts
	named      map[string][]*referent // by the names that they have while they are built
	given      []string               // see findGiven
	awaited    map[string]bool        // see findAwaited
	configured map[string]bool        // folders with configurations, and those that load them
	rest       *part
	parts      []*part
}

// part is some of the documents that a build loads: specs, and what they may refer
// to. The rest is all that is in no part.
type part struct {
	texts     map[string][]*source.Text // by file
	referents map[*referent]bool
	folders   map[string]bool // that its documents come through
}

func newPart() *part {
	return &part{texts: map[string][]*source.Text{}, referents: map[*referent]bool{}, folders: map[string]bool{}}
}

// divide divides the build of a folder; nil where it has to be built as a whole.
func divide(w *Ways, partSize int) *division {
	if w.countSpecs() < minParts*partSize {
		return nil
	}
	references, ok := w.readConfigurations()
	d := &division{
		Ways: w, references: references,
		waysOf: map[*yaml.Node][]*Way{}, size: map[string]int{}, named: map[string][]*referent{},
		awaited: map[string]bool{}, configured: map[string]bool{},
	}
	for _, gvk := range w.kinds.GVKs() {
		d.specKinds = append(d.specKinds, gvk.Kind)
	}
	if !ok || !d.isDivisible() {
		return nil
	}
	for i := range d.All {
		node := d.All[i].Document.Node
		d.waysOf[node] = append(d.waysOf[node], &d.All[i])
	}
	for _, m := range w.sources.Manifests {
		d.size[m.File] = len(m.Texts)
	}
	d.findConfigured(w.folder)
	d.findReferents()
	d.findGiven()
	d.findAwaited()
	d.distribute(partSize)
	return d
}

func (w *Ways) countSpecs() (count int) {
	for _, m := range w.sources.Manifests {
		for _, text := range m.Texts {
			if w.isSpec(text) {
				count++
			}
		}
	}
	return count
}

// isSpec reports whether a text is one object of a kind that users write.
func (w *Ways) isSpec(text *source.Text) bool {
	return len(text.Objects) == 1 && !text.Objects[0].Listed && w.kinds.Find(schema.FromAPIVersionAndKind(text.Objects[0].APIVersion, text.Objects[0].Kind)) != nil
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

// distribute puts every document into a part, or into the rest.
func (d *division) distribute(partSize int) {
	d.rest = newPart()
	size := partSize
	for _, m := range d.sources.Manifests {
		for _, text := range m.Texts {
			referents, ok := d.independent(text)
			if !ok {
				d.rest.texts[m.File] = append(d.rest.texts[m.File], text)
				continue
			}
			if size == partSize {
				d.parts = append(d.parts, newPart())
				size = 0
			}
			d.parts[len(d.parts)-1].addSpec(text, d.waysOf[text.Objects[0].Node], referents)
			size++
		}
	}
}

// independent returns what a text may refer to, and reports whether it can be built with nothing
// else: it is a spec that no other object needs or changes.
func (d *division) independent(text *source.Text) (map[*referent]bool, bool) {
	ways := d.waysOf[text.Objects[0].Node]
	if !d.isSpec(text) || len(ways) == 0 || slices.ContainsFunc(ways, d.isClosed) {
		return nil, false
	}
	names, namespaces := d.namesOf(ways)
	if slices.ContainsFunc(names, func(name string) bool { return d.awaited[name] }) {
		return nil, false
	}
	referents := d.referentsOf(text.Objects[0], namespaces)
	for r := range referents {
		if r.isClosed {
			return nil, false
		}
	}
	return referents, true
}

// addSpec adds a spec and what it may refer to.
func (p *part) addSpec(spec *source.Text, ways []*Way, referents map[*referent]bool) {
	p.add(spec, ways)
	for r := range referents {
		if !p.referents[r] {
			p.add(r.text, r.ways)
		}
		p.referents[r] = true
	}
}

// add adds a text, nil for what is generated, with the folders on its ways.
func (p *part) add(text *source.Text, ways []*Way) {
	file := ways[0].Document.File
	if text != nil && !slices.Contains(p.texts[file], text) {
		p.texts[file] = append(p.texts[file], text)
	}
	for _, way := range ways {
		for _, folder := range way.Folders {
			p.folders[folder] = true
		}
	}
}
