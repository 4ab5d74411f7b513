package build

import (
	"cmp"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/source"
)

// Trace is the way of an object through the kustomizations of an environment.
type Trace struct {
	// Written is what people wrote: an object, or an entry that generates one.
	Written source.Document
	// Entry is the path of that entry, as configMapGenerator[0], and Loads are the files that
	// it generates the object from.
	Entry string
	Loads []string
	// Folders are those of the kustomizations on the way, the innermost first.
	Folders []string
	Steps   []Step
	// Built is the object in the end, nil where it is removed.
	Built *unstructured.Unstructured
}

// Step is what entries of a kustomization made of an object.
type Step struct {
	// Folder is that of the kustomization; empty of the names in references, which kustomize
	// puts right.
	Folder string
	// Entries are the paths of the entries, as patches[0]: one, where kustomize can build
	// without those that follow.
	Entries []string
	// Loads are the files that the entries load, from the root.
	Loads []string
	// Before and After are the object; After is nil where it is removed.
	Before, After *unstructured.Unstructured
	// Beside are the objects that there are where names in references are put right.
	Beside []object.ID
}

// Traces follows objects of an environment from documents to what they are built to, each by
// every way that it takes. It builds the kustomizations again and again, each time with one
// more of their entries, and compares: only that says what an entry really changes. What
// cannot be followed, as kustomize makes another object of it, is left out. Restore is done
// to each object that was built.
func Traces(s *source.Sources, folder string, documents []source.Document, restore func(*unstructured.Unstructured)) (traces []Trace) {
	if len(documents) == 1 {
		return tracesOf(s, folder, documents, restore, 1)
	}
	return tracesOf(s, folder, documents, restore, partSize)
}

// tracesOf follows documents in parts of so many specs.
func tracesOf(s *source.Sources, folder string, documents []source.Document, restore func(*unstructured.Unstructured), size int) (traces []Trace) {
	whole := &tracer{
		sources: s, restore: restore, levels: map[string]*level{},
		kustomizations: s.Kustomizations, fs: s.FS, keep: func(*source.Text) bool { return true },
	}
	tracers := whole.divided(folder, documents, size)
	isolate(s, func() {
		openapi.Schema() // its first use is not safe for several at a time
		defer mute()()
		for _, t := range append(tracers, whole) {
			found, failed := t.traces(folder, t == whole)
			traces, whole.documents = append(traces, found...), append(whole.documents, failed...)
		}
	})
	order := map[*yaml.Node]int{}
	for i, d := range documents {
		order[d.Node] = i
	}
	slices.SortStableFunc(traces, func(a, b Trace) int { return cmp.Compare(order[a.Written.Node], order[b.Written.Node]) })
	return traces
}

// divided returns tracers that have no more built than their documents need, where
// kustomizations can be divided: what kustomize builds at once takes it the square of the
// time. What they do not follow is left to the tracer itself.
func (t *tracer) divided(folder string, documents []source.Document, size int) (tracers []*tracer) {
	d := divide(t.sources, folder, size)
	if d == nil {
		t.documents = documents
		return nil
	}
	parts := append(slices.Clone(d.parts), d.rest)
	partOf := map[*yaml.Node]*part{}
	for _, p := range slices.Backward(parts) {
		for _, texts := range p.texts {
			for _, text := range texts {
				for _, o := range text.Objects {
					partOf[o.Node] = p
				}
			}
		}
	}
	ofPart := map[*part][]source.Document{}
	for _, document := range documents {
		p := cmp.Or(partOf[document.Node], d.rest) // which generates what is generated
		ofPart[p] = append(ofPart[p], document)
	}
	for _, p := range parts {
		pruned, err := d.pruned(p)
		if err != nil || pruned.left[folder] == nil {
			t.documents = append(t.documents, ofPart[p]...)
			continue
		}
		tracers = append(tracers, &tracer{
			sources: t.sources, documents: ofPart[p], restore: t.restore, levels: map[string]*level{},
			kustomizations: pruned.left, fs: t.sources.FS.With(pruned.files), keep: p.has,
		})
	}
	return tracers
}

// has says whether a text is in a part.
func (p *part) has(text *source.Text) bool {
	return slices.ContainsFunc(text.Objects, func(o source.Document) bool { return slices.Contains(p.texts[o.File], text) })
}

// traces follows the documents and, unless it is the last to do so, leaves out and returns those
// of which it fails to build what they are in.
func (t *tracer) traces(folder string, isLast bool) (traces []Trace, failed []source.Document) {
	ways := make([][][]string, len(t.documents))
	for i, d := range t.documents {
		ways[i] = waysTo(t.sources, folder, d)
		t.hasForks = t.hasForks || len(ways[i]) > 1
	}
	for i, d := range t.documents {
		var own []Trace
		for _, way := range ways[i] {
			if trace, ok := t.trace(i, way); ok {
				own = append(own, trace)
			}
		}
		if !isLast && slices.ContainsFunc(ways[i], t.failed) {
			failed = append(failed, d)
			continue
		}
		traces = append(traces, own...)
	}
	return traces, failed
}

// failed says whether a kustomization on a way could not be built.
func (t *tracer) failed(way []string) bool {
	return slices.ContainsFunc(way, func(folder string) bool {
		l := t.levels[folder]
		return l != nil && l.stages[len(l.program)].failed
	})
}

// waysTo are the ways from a document to the outermost folder, each the folders of
// kustomizations, the innermost first.
func waysTo(s *source.Sources, root string, d source.Document) (ways [][]string) {
	var follow func(folder string, outer []string)
	follow = func(folder string, outer []string) {
		k := s.Kustomizations[folder]
		if k == nil || slices.Contains(outer, folder) {
			return
		}
		way := append([]string{folder}, outer...)
		if k.File == d.File {
			ways = append(ways, way)
		}
		for _, loaded := range slices.Concat(k.Resources, k.Components) {
			switch at := k.Paths[loaded]; {
			case at == d.File:
				ways = append(ways, way)
			case at != "":
				follow(at, way)
			}
		}
	}
	follow(root, nil)
	return ways
}

// tracer follows documents.
type tracer struct {
	sources   *source.Sources
	documents []source.Document
	restore   func(*unstructured.Unstructured)
	hasForks  bool              // a document takes several ways
	marked    map[string][]byte // files in which the documents are marked
	levels    map[string]*level // by folder

	// What is built, which may be less than the sources:
	fs             *source.FileSystem
	kustomizations map[string]*source.Kustomization
	keep           func(*source.Text) bool
}

// trace follows a document on one way.
func (t *tracer) trace(document int, way []string) (Trace, bool) {
	trace := Trace{Written: t.documents[document], Folders: way, Built: t.written(document)}
	if at, e, ok := t.generator(trace.Written); ok {
		trace.Entry, trace.Loads = e.name(), loadedBy(t.sources.Kustomizations[at], e)
	}
	isThere := false
	for i, folder := range way {
		if t.kustomizations[folder] == nil {
			return trace, false
		}
		if t.kustomizations[folder].Kind == types.ComponentKind {
			continue // what loads it carries its entries out
		}
		l := t.level(folder)
		if l.stages[len(l.program)].failed {
			return trace, false
		}
		objects := make([]*unstructured.Unstructured, len(l.stages))
		for n, stage := range l.stages {
			objects[n] = stage.find(document, func(m marked) bool { return t.isOn(m, way[:i]) })
		}
		if l.isLost(objects) {
			return trace, false
		}
		var steps []Step
		steps, trace.Built = compare(t.sources, t.kustomizations, l, objects, trace.Built)
		trace.Steps = append(trace.Steps, steps...)
		isThere = isThere || slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return o != nil })
		if trace.Built == nil {
			break
		}
	}
	return trace, isThere
}

// isOn says whether an object came through the folders of a way.
func (t *tracer) isOn(m marked, way []string) bool {
	return !t.hasForks || !slices.ContainsFunc(way, func(folder string) bool { return t.tellsWay(folder) && !slices.Contains(m.folders, folder) })
}

// compare returns the steps in which an object became another in the stages of a level, and
// what it is in the end.
func compare(s *source.Sources, left map[string]*source.Kustomization, l *level, objects []*unstructured.Unstructured, last *unstructured.Unstructured) (steps []Step, _ *unstructured.Unstructured) {
	var pending []entry
	isThere := false
	for n, o := range objects {
		if n > 0 {
			pending = append(pending, l.program[n-1])
		}
		if l.stages[n].failed || !isThere && o == nil {
			continue
		}
		switch {
		case o != nil && last != nil && reflect.DeepEqual(o.Object, last.Object):
		case isThere:
			steps = append(steps, newStep(s, left, pending, last, o))
		case last != nil: // what is beside it here changes the names in its references
			steps = append(steps, Step{Before: last, After: o, Beside: l.stages[n].all})
		}
		isThere, last, pending = true, o, nil
		if o == nil {
			break
		}
	}
	if !isThere {
		return nil, nil
	}
	return steps, last
}

func newStep(s *source.Sources, left map[string]*source.Kustomization, entries []entry, before, after *unstructured.Unstructured) Step {
	step := Step{Before: before, After: after}
	for _, e := range entries {
		if !e.opens || len(entries) == 1 {
			step.Folder = e.folder
			step.Entries = append(step.Entries, e.in(left[e.folder], s.Kustomizations[e.folder]).name())
			step.Loads = append(step.Loads, loadedBy(left[e.folder], e)...)
		}
	}
	return step
}
