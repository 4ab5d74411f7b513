package build

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	sigsyaml "sigs.k8s.io/yaml"

	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/source"
)

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

func (s stage) find(document int, isMeant func(marked) bool) *unstructured.Unstructured {
	for _, m := range s.objects {
		if m.document == document && isMeant(m) {
			return m.Unstructured
		}
	}
	return nil
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

func idsOf(objects []object.Object) []object.ID {
	ids := make([]object.ID, len(objects))
	for i, o := range objects {
		ids[i] = o.ID()
	}
	return ids
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
