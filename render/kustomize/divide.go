package kustomize

import (
	"maps"
	"slices"

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
	sources   *source.Sources
	specKinds []string // the kinds of specs, whatever their groups
	folder    string   // whose kustomization is built

	reached    map[string]*source.Kustomization // by folder: all that the build loads
	loaders    map[string][]string              // folders that load a folder, or a file as a resource
	manifests  []*source.Manifest               // that are loaded
	size       map[string]int                   // of manifests, by file, in texts
	configured []string                         // folders with configurations
	referents  *referents
	// By folder of a kustomization:
	patches    map[string]patches
	affixes    map[string][]affix
	closed     map[string]bool // see isClosed
	namespaces map[string][]string
	// referred has the names of specs that other objects may hold.
	referred map[string]bool

	rest  *part
	parts []*part
}

// part is some of the documents that a build loads: specs, and what they may refer
// to. The rest is all that is in no part.
type part struct {
	texts     map[string][]*source.Text // by file
	referents map[*referent]bool
	isRest    bool
}

// divide divides the build of a folder; nil where it has to be built as a whole.
func divide(s *source.Sources, folder string, partSize int) *division {
	if countSpecs(s) < minParts*partSize {
		return nil
	}
	d := &division{
		sources: s, specKinds: s.Kinds.Names(), folder: folder,
		reached: map[string]*source.Kustomization{}, loaders: map[string][]string{}, size: map[string]int{},
		affixes: map[string][]affix{}, closed: map[string]bool{}, namespaces: map[string][]string{},
	}
	if !d.reach(folder) {
		return nil
	}
	for _, m := range s.Manifests {
		if d.size[m.File] = len(m.Texts); len(d.loaders[m.File]) > 0 {
			d.manifests = append(d.manifests, m)
		}
	}
	if !d.isDivisible() || !d.readConfigurations() || !d.readPatches() || !d.findReferents() || !d.findReferrers() {
		return nil
	}
	d.distribute(partSize)
	return d
}

func countSpecs(s *source.Sources) (count int) {
	for _, m := range s.Manifests {
		for _, text := range m.Texts {
			if isSpec(s, text) {
				count++
			}
		}
	}
	return count
}

// isSpec reports whether a text is one object of a kind that users write.
func isSpec(s *source.Sources, text *source.Text) bool {
	return len(text.Objects) == 1 && !text.Objects[0].Listed && s.Kinds.Has(text.Objects[0].APIVersion, text.Objects[0].Kind)
}

// reach finds the kustomizations that a folder's loads, and what loads what. It reports
// whether all of that is known, and none loads a folder that it is loaded by, as
// kustomize refuses.
func (d *division) reach(folder string, loadedBy ...string) bool {
	if slices.Contains(loadedBy, folder) {
		return false
	}
	if d.reached[folder] != nil {
		return true
	}
	k := d.sources.Kustomizations[folder]
	d.reached[folder] = k
	for _, entry := range slices.Concat(k.Resources, k.Components) {
		loaded := k.Paths[entry]
		if loaded == "" {
			return false
		}
		d.loaders[loaded] = append(d.loaders[loaded], folder)
		if d.sources.Kustomizations[loaded] != nil && !d.reach(loaded, append(slices.Clip(loadedBy), folder)...) {
			return false
		}
	}
	return true
}

// isClosed reports whether what a folder loads may depend on other objects there: its
// kustomization, or one that loads it, has fields that change an object by another.
func (d *division) isClosed(folder string) bool {
	closed, known := d.closed[folder]
	if !known {
		closed = d.hasCrossObjectFields(folder) || slices.ContainsFunc(d.loaders[folder], d.isClosed)
		d.closed[folder] = closed
	}
	return closed
}

// hasCrossObjectFields reports whether a kustomization, or one of its components, has fields that
// change an object by another.
func (d *division) hasCrossObjectFields(folder string) bool {
	k := d.reached[folder]
	return len(k.Replacements)+len(k.Transformers)+len(k.Generators)+len(k.Validators) > 0 ||
		slices.ContainsFunc(k.Components, func(entry string) bool { return d.hasCrossObjectFields(k.Paths[entry]) })
}

// distribute puts every document into a part, or into the rest.
func (d *division) distribute(partSize int) {
	d.rest = &part{texts: map[string][]*source.Text{}, isRest: true}
	awaited := d.referencedNames()
	maps.Copy(awaited, d.referred)
	size := partSize
	for _, m := range d.manifests {
		isClosed := slices.ContainsFunc(d.loaders[m.File], d.isClosed)
		for _, text := range m.Texts {
			if !isSpec(d.sources, text) || isClosed || d.isReferencedByName(awaited, text.Objects[0]) {
				d.rest.add(m.File, text)
				continue
			}
			referents := d.referentsOf(m.File, text.Objects[0])
			if slices.ContainsFunc(slices.Collect(maps.Keys(referents)), func(r *referent) bool { return r.isClosed }) {
				d.rest.add(m.File, text)
				continue
			}
			if size == partSize {
				d.parts = append(d.parts, &part{texts: map[string][]*source.Text{}, referents: map[*referent]bool{}})
				size = 0
			}
			d.parts[len(d.parts)-1].addSpec(m.File, text, referents)
			size++
		}
	}
}

// isReferencedByName reports whether a document has one of some names while it is built.
func (d *division) isReferencedByName(names map[string]bool, document source.Document) bool {
	return len(names) > 0 && slices.ContainsFunc(d.namesOf(document.File, document.Name), func(name string) bool { return names[name] })
}

func (p *part) add(file string, text *source.Text) {
	p.texts[file] = append(p.texts[file], text)
}

// addSpec adds a spec and what it may refer to.
func (p *part) addSpec(file string, spec *source.Text, referents map[*referent]bool) {
	p.add(file, spec)
	for r := range referents {
		if !p.referents[r] && r.text != nil && !slices.Contains(p.texts[r.file], r.text) {
			p.add(r.file, r.text)
		}
		p.referents[r] = true
	}
}
