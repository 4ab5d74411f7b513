package build

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	sigsyaml "sigs.k8s.io/yaml"

	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/parallel"
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

// level is what a kustomization makes of its objects, entry by entry.
type level struct {
	program []entry
	stages  []stage // one more than entries
}

// stage are the objects that the first entries make.
type stage struct {
	failed  bool
	objects []marked
	all     []object.ID
}

// marked is an object of which it is known where it comes from.
type marked struct {
	*unstructured.Unstructured
	document int
	folders  []string // that it came through, where documents take several ways
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

// isLost says whether an object that goes is still there, without its mark.
func (l *level) isLost(objects []*unstructured.Unstructured) bool {
	var last *unstructured.Unstructured
	for n, o := range objects {
		if l.stages[n].failed {
			continue
		}
		if o == nil && last != nil && slices.Contains(l.stages[n].all, object.Object{Unstructured: last}.ID()) {
			return true
		}
		last = o
	}
	return false
}

// isOn says whether an object came through the folders of a way.
func (t *tracer) isOn(m marked, way []string) bool {
	return !t.hasForks || !slices.ContainsFunc(way, func(folder string) bool { return t.tellsWay(folder) && !slices.Contains(m.folders, folder) })
}

func (s stage) find(document int, isMeant func(marked) bool) *unstructured.Unstructured {
	for _, m := range s.objects {
		if m.document == document && isMeant(m) {
			return m.Unstructured
		}
	}
	return nil
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

// level builds a folder with each of the first entries of its program.
func (t *tracer) level(folder string) *level {
	if t.levels[folder] != nil {
		return t.levels[folder]
	}
	if t.marked == nil {
		t.mark()
	}
	l := &level{program: programOf(t.kustomizations, folder)}
	l.stages = make([]stage, len(l.program)+1)
	parallel.For(len(l.stages), func(n int) {
		if n > 0 && opensNothing(t.kustomizations, l.program[n-1]) {
			l.stages[n].failed = true
			return
		}
		files := maps.Clone(t.marked)
		maps.Copy(files, cut(t.kustomizations, l.program, n, t.adjust))
		objects, err := buildFolder(t.fs.With(files), folder, nil)
		l.stages[n] = stage{failed: err != nil, all: idsOf(objects)}
		l.stages[n].objects = t.unmark(objects)
	})
	t.levels[folder] = l
	return l
}

// programOf is what a kustomization does, entry by entry, and in the midst of it what its
// components do.
func programOf(left map[string]*source.Kustomization, folder string) (program []entry) {
	k := left[folder]
	for f, field := range fields {
		for i := range field.count(&k.Kustomization) {
			e := entry{folder: folder, field: f, index: i}
			if field.name != componentsField || countLoaders(left, k.Paths[k.Components[i]]) > 1 { // cut for one it were for all
				program = append(program, e)
				continue
			}
			inner := programOf(left, k.Paths[k.Components[i]])
			e.opens = len(inner) > 0
			program = append(append(program, e), inner...)
		}
	}
	return program
}

// countLoaders is how many entries load a folder.
func countLoaders(left map[string]*source.Kustomization, folder string) (count int) {
	for _, k := range left {
		for _, loaded := range slices.Concat(k.Resources, k.Components) {
			if k.Paths[loaded] == folder {
				count++
			}
		}
	}
	return count
}

// opensNothing says whether an entry names a component of which nothing is left without
// entries: kustomize refuses such a one.
func opensNothing(left map[string]*source.Kustomization, e entry) bool {
	k := left[e.folder]
	return e.opens && len(left[k.Paths[k.Components[e.index]]].Resources) == 0
}

// cut are the kustomizations that a program is of, with its first entries.
func cut(left map[string]*source.Kustomization, program []entry, n int, adjust func(*source.Kustomization)) map[string][]byte {
	kustomizations := map[string]*source.Kustomization{}
	for _, e := range program {
		if kustomizations[e.folder] == nil {
			k := *left[e.folder]
			kustomizations[e.folder] = &k
		}
	}
	counts := map[entry]int{}
	for _, e := range program[:n] {
		counts[entry{folder: e.folder, field: e.field}] = e.index + 1
	}
	files := map[string][]byte{}
	for folder, k := range kustomizations {
		for f, field := range fields {
			field.cut(&k.Kustomization, counts[entry{folder: folder, field: f}])
		}
		adjust(k)
		files[k.File], _ = sigsyaml.Marshal(k.Kustomization) // it was read from YAML
	}
	return files
}

// What objects are known by again: a field that no patch knows of with the number of the
// document, and one with the folders that they came through. A generated object has the
// number in an annotation instead: the hash in its name is not of annotations.
const (
	documentMark = "gatehouseDocument"
	foldersMark  = "gatehouseFolders"
	marker       = "explain.gatehouse.example.com/"
)

// mark marks the documents in the files that they are in.
func (t *tracer) mark() {
	t.marked = map[string][]byte{}
	byFile := map[string]map[int]source.Document{}
	for i, d := range t.documents {
		if byFile[d.File] == nil {
			byFile[d.File] = map[int]source.Document{}
		}
		byFile[d.File][i] = d
	}
	for file, documents := range byFile {
		if content, ok := t.sources.Marked(file, documents, documentMark, t.keep); ok {
			t.marked[file] = content
		}
	}
	for _, k := range t.kustomizations {
		own := *k
		if t.adjust(&own); !reflect.DeepEqual(own, *k) {
			t.marked[k.File], _ = sigsyaml.Marshal(own.Kustomization)
		}
	}
}

// adjust marks the objects that a kustomization generates and, where a document takes several
// ways, all that come through its folder.
func (t *tracer) adjust(k *source.Kustomization) {
	k.ConfigMapGenerator, k.SecretGenerator = slices.Clone(k.ConfigMapGenerator), slices.Clone(k.SecretGenerator)
	for i, d := range t.documents {
		at, e, ok := t.generator(d)
		switch {
		case !ok || at != k.Folder:
		case fields[e.field].name == "configMapGenerator" && e.index < len(k.ConfigMapGenerator):
			markGenerator(&k.ConfigMapGenerator[e.index].GeneratorArgs, i)
		case fields[e.field].name == "secretGenerator" && e.index < len(k.SecretGenerator):
			markGenerator(&k.SecretGenerator[e.index].GeneratorArgs, i)
		}
	}
	if t.hasForks && t.tellsWay(k.Folder) {
		k.Labels = append(slices.Clone(k.Labels), types.Label{
			Pairs:      map[string]string{marker + strconv.Itoa(t.number(k.Folder)): "here"},
			FieldSpecs: []types.FieldSpec{{Path: foldersMark, CreateIfNotPresent: true}},
		})
	}
}

// tellsWay says whether an object came through a folder if it has its mark. What a component
// does, it does to all objects of what loads it.
func (t *tracer) tellsWay(folder string) bool {
	return t.kustomizations[folder].Kind != types.ComponentKind
}

func (t *tracer) number(folder string) int {
	return slices.Index(slices.Sorted(maps.Keys(t.kustomizations)), folder)
}

func markGenerator(args *types.GeneratorArgs, document int) {
	options := types.GeneratorOptions{}
	if args.Options != nil {
		options = *args.Options
	}
	annotations := map[string]string{marker + documentMark: strconv.Itoa(document)}
	maps.Copy(annotations, options.Annotations)
	options.Annotations = annotations
	args.Options = &options
}

// generator is the entry that a document is, if it is one that generates an object and does
// not change another's.
func (t *tracer) generator(d source.Document) (folder string, e entry, ok bool) {
	for _, k := range t.sources.Kustomizations {
		if k.File != d.File || d.IsInline() {
			continue
		}
		_, line := d.Position()
		for f, field := range fields {
			for i := range field.count(&k.Kustomization) {
				if generates(k, field.name, i) == d.Kind && t.sources.Line(k.File, field.name, strconv.Itoa(i)) == line {
					return k.Folder, entry{folder: k.Folder, field: f, index: i}, true
				}
			}
		}
	}
	return "", entry{}, false
}

// generates is the kind of the object that an entry generates; empty where there is none, or
// where that changes another's.
func generates(k *source.Kustomization, field string, index int) (kind string) {
	behavior := ""
	switch field {
	case "configMapGenerator":
		kind, behavior = "ConfigMap", k.ConfigMapGenerator[index].Behavior
	case "secretGenerator":
		kind, behavior = "Secret", k.SecretGenerator[index].Behavior
	}
	if b := types.NewGenerationBehavior(behavior); b == types.BehaviorMerge || b == types.BehaviorReplace {
		return ""
	}
	return kind
}

// unmark returns the marked ones of objects, without their marks.
func (t *tracer) unmark(objects []object.Object) (found []marked) {
	folders := slices.Sorted(maps.Keys(t.kustomizations))
	for _, o := range objects {
		number, _, _ := unstructured.NestedString(o.Object, documentMark)
		document, err := strconv.Atoi(cmp.Or(number, o.GetAnnotations()[marker+documentMark]))
		if err != nil {
			continue
		}
		m := marked{Unstructured: o.Unstructured, document: document}
		came, _, _ := unstructured.NestedMap(o.Object, foldersMark)
		for i, folder := range folders {
			if came[marker+strconv.Itoa(i)] != nil {
				m.folders = append(m.folders, folder)
			}
		}
		dropMarks(o.Object)
		t.restore(o.Unstructured)
		found = append(found, m)
	}
	return found
}

// dropMarks drops the marks of an object, and the maps that were made for them.
func dropMarks(object map[string]any) {
	delete(object, documentMark)
	delete(object, foldersMark)
	metadata, _ := object["metadata"].(map[string]any)
	for _, key := range []string{"annotations", "labels"} {
		values, _ := metadata[key].(map[string]any)
		before := len(values)
		maps.DeleteFunc(values, func(key string, _ any) bool { return strings.HasPrefix(key, marker) })
		if len(values) == 0 && before > 0 {
			delete(metadata, key)
		}
	}
}

func idsOf(objects []object.Object) []object.ID {
	ids := make([]object.ID, len(objects))
	for i, o := range objects {
		ids[i] = o.ID()
	}
	return ids
}

// written is an object as people wrote it, nil where it is generated.
func (t *tracer) written(document int) *unstructured.Unstructured {
	node, ok := t.sources.Copy(t.documents[document])
	if !ok {
		return nil
	}
	o, err := object.FromYAML(node)
	if err != nil {
		return nil
	}
	t.restore(o.Unstructured)
	return o.Unstructured
}

// loadedBy are the files that an entry of a kustomization loads.
func loadedBy(k *source.Kustomization, e entry) (files []string) {
	var paths []string
	switch i := e.index; fields[e.field].name {
	case "configMapGenerator":
		paths = loadedByGenerator(k.ConfigMapGenerator[i].KvPairSources)
	case "secretGenerator":
		paths = loadedByGenerator(k.SecretGenerator[i].KvPairSources)
	case "patches":
		paths = []string{k.Patches[i].Path}
	case "patchesJson6902":
		paths = []string{k.PatchesJson6902[i].Path}
	case "patchesStrategicMerge":
		paths = []string{string(k.PatchesStrategicMerge[i])}
	case "replacements":
		paths = []string{k.Replacements[i].Path}
	case "transformers":
		paths = []string{k.Transformers[i]}
	case "generators":
		paths = []string{k.Generators[i]}
	}
	for _, name := range paths {
		if file := k.Paths[name]; file != "" {
			files = append(files, file)
		}
	}
	return files
}

func loadedByGenerator(sources types.KvPairSources) []string {
	return slices.Concat(sources.FileSources, sources.EnvSources, []string{sources.EnvSource})
}

// OverrideSteps returns the steps in which overrides make of rendered objects what they are
// in the end, by the IDs that those have before.
func OverrideSteps(s *source.Sources, folder string, rendered []object.Object) map[object.ID][]Step {
	l := &level{program: programOf(s.Kustomizations, folder)}
	l.stages = make([]stage, len(l.program)+1)
	built := make([]map[object.ID]*unstructured.Unstructured, len(l.stages))
	isolate(s, func() {
		openapi.Schema()
		defer mute()()
		for n := range built {
			if l.stages[n].failed = n > 0 && opensNothing(s.Kustomizations, l.program[n-1]); !l.stages[n].failed {
				objects, err := overrideFirst(s, folder, l.program, n, rendered)
				built[n], l.stages[n].failed = byID(objects), err != nil
			}
		}
	})
	steps := map[object.ID][]Step{}
	for id, first := range built[0] {
		objects := make([]*unstructured.Unstructured, len(built))
		for n := range built {
			objects[n] = built[n][id]
		}
		steps[id], _ = compare(s, s.Kustomizations, l, objects, first)
	}
	return steps
}

// overrideFirst overrides with the first entries of a program.
func overrideFirst(s *source.Sources, folder string, program []entry, n int, rendered []object.Object) ([]object.Object, error) {
	if n == 0 {
		return rendered, nil
	}
	files := cut(s.Kustomizations, program, n, func(*source.Kustomization) {})
	component := *s.Kustomizations[folder]
	component.Kustomization = types.Kustomization{}
	if err := sigsyaml.Unmarshal(files[component.File], &component.Kustomization); err != nil {
		return nil, fmt.Errorf("read %s: %w", component.File, err)
	}
	unchanged, overridden, err := overrideParts(s.FS.With(files), &component, rendered)
	return slices.Concat(unchanged, overridden), err
}

func byID(objects []object.Object) map[object.ID]*unstructured.Unstructured {
	byID := map[object.ID]*unstructured.Unstructured{}
	for _, o := range objects {
		byID[o.ID()] = o.Unstructured
	}
	return byID
}
