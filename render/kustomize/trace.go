package kustomize

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/kustomize/parts"
	"example.com/gatehouse/render/manifest"
)

// Entry is an entry of a kustomization that may change objects.
type Entry = buildpath.Entry

// Step is the change of an object by an entry of a kustomization.
type Step struct {
	// Entry has no Name if no single entry explains the change.
	Entry Entry
	// Before and After are nil without the object.
	Before, After *unstructured.Unstructured
}

// Trace returns the changes of a source object, in the order of the build. It builds the object with more and
// more entries of the kustomizations on its build path. It fails if these builds fail.
func Trace(paths *Paths, path Path, o *unstructured.Unstructured) (steps []Step, ok bool) {
	t := &tracer{entries: paths.Entries(path.Folders...), build: func(last *Entry) (*unstructured.Unstructured, bool) {
		until, err := paths.Until(path.Folders, last)
		if err != nil {
			return nil, false
		}
		return buildAlone(until, path)
	}}
	return t.steps(Step{Entry{Kustomization: paths.Loaded[paths.Folder]}, o, nil})
}

// buildAlone builds the object of a build path, with few other objects if possible.
func buildAlone(paths *Paths, path Path) (o *unstructured.Unstructured, ok bool) {
	var objects []manifest.Object
	err := parts.ErrOverlap
	isolate(paths.Sources, func() {
		if d := parts.Of(paths, path.Document.Tree); d != nil {
			objects, err = d.Build(nil, buildFolder)
		} else if len(paths.All) <= maxRebuilt {
			objects, err = buildFolder(paths.Sources.FS, paths.Folder)
		}
	})
	for _, built := range objects {
		if found := paths.FindExact(built); found != nil && found.Document.Tree == path.Document.Tree &&
			slices.Equal(found.Folders, path.Folders) {
			o = built.Unstructured
		}
	}
	return o, err == nil
}

// TraceOverrides is Trace for one of the rendered objects and the overrides in a folder.
func TraceOverrides(paths *Paths, folder string, rendered []manifest.Object,
	o manifest.Object) (steps []Step, ok bool) {
	folders := paths.Overrides(folder)
	t := &tracer{entries: paths.Entries(folders...), build: func(last *Entry) (*unstructured.Unstructured, bool) {
		until, err := paths.Until(folders, last)
		if last == nil || err != nil {
			return o.Unstructured, err == nil
		}
		result, problems := Override(until, folder, rendered)
		for _, changed := range result.Changed {
			if changed.Rendered != nil && changed.Rendered.ID() == o.ID() {
				return changed.Unstructured, true
			}
		}
		if slices.ContainsFunc(result.Unchanged, func(other manifest.Object) bool { return other.ID() == o.ID() }) {
			return o.Unstructured, true
		}
		return nil, !manifest.HasErrors(problems)
	}}
	return t.steps(Step{Entry{Kustomization: paths.Sources.Kustomizations[folder]}, o.Unstructured, nil})
}

// tracer finds the changes of an object by entries. It builds the object until after one of them, or before all.
type tracer struct {
	entries []Entry
	build   func(last *Entry) (o *unstructured.Unstructured, ok bool)
	builds  int
}

// maxBuilds is the largest number of builds to find the changes of an object.
const maxBuilds = 300

// steps returns the changes by all entries, after the change by a build without them: kustomize updates references
// to other objects, too. A generated object has no such change.
func (t *tracer) steps(first Step) (steps []Step, ok bool) {
	after, ok := t.at(len(t.entries))
	for n := 0; ok && n <= len(t.entries); n++ {
		if before, ok := t.at(n); ok {
			if n > 0 {
				first.Entry = Entry{Kustomization: t.entries[n-1].Kustomization}
			}
			first.After = before
			if first.Before != nil && !reflect.DeepEqual(first.Before, before) {
				steps = append(steps, first)
			}
			return append(steps, t.between(n, len(t.entries), before, after)...), true
		}
	}
	return nil, false
}

// at builds the object with the first n entries.
func (t *tracer) at(n int) (o *unstructured.Unstructured, ok bool) {
	t.builds++
	switch {
	case t.builds > maxBuilds:
		return nil, false
	case n == 0:
		return t.build(nil)
	}
	return t.build(&t.entries[n-1])
}

// between returns the changes from the first to the last of some entries.
func (t *tracer) between(first, last int, before, after *unstructured.Unstructured) []Step {
	between := last - first - 1
	switch {
	case reflect.DeepEqual(before, after):
		return nil
	case between == 0:
		return []Step{{t.entries[first], before, after}}
	}
	for i := range between {
		middle := first + 1 + (between/2+i)%between
		if o, ok := t.at(middle); ok {
			return append(t.between(first, middle, before, o), t.between(middle, last, o, after)...)
		}
	}
	return []Step{{Entry{Kustomization: t.entries[last-1].Kustomization}, before, after}}
}
