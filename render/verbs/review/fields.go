package review

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
)

// This file keeps a review complete. Each changed object has an effect, and each changed field is in
// one: rules only choose better words. A field needs no words of its own if it follows from the source
// object, whose own change has an effect.

// complete adds the effects of changed objects and fields that no effect explains.
func (w *world) complete(effects []Effect) []Effect {
	explained := map[manifest.ID][]kind.Effect{}
	for _, e := range effects {
		explained[e.Object] = append(explained[e.Object], e.Effect)
	}
	following := map[manifest.ID][]diff.Change{}
	var more []Effect
	for _, c := range w.Changes {
		id := idOf(c.Object().Unstructured)
		fields, owner := w.ownFields(c)
		if e := reviewFields(c, fields, explained[id]); e.Type != "" {
			more = append(more, Effect{id, e})
		} else if owner != id && len(explained[id]) == 0 {
			following[owner] = append(following[owner], c)
		}
	}
	for i, e := range more {
		if changes := following[e.Object]; changes != nil {
			more[i].What += "; " + sayFollowing(changes)
			delete(following, e.Object)
		}
	}
	for _, owner := range slices.SortedFunc(maps.Keys(following), compareObjects) {
		more = append(more, Effect{owner, kind.Effect{Type: RenderedFollow, What: sayFollowing(following[owner])}})
	}
	return append(effects, more...)
}

// reviewFields returns the effect of the changed fields that other effects leave unexplained, if any.
// An object without another effect has one, unless it has an owner and follows it.
func reviewFields(c diff.Change, fields []diff.FieldChange, explained []kind.Effect) kind.Effect {
	told := sets.Set[string]{}
	for _, e := range explained {
		told.Insert(e.Fields...)
	}
	fields = slices.DeleteFunc(fields, func(f diff.FieldChange) bool { return isWithin(f, told) })
	e := kind.Effect{Fields: pathsOf(fields)}
	switch {
	case len(fields) == 0, c.After == nil && len(explained) > 0:
		return kind.Effect{}
	case c.After == nil:
		return kind.Effect{Type: ObjectRemoved, What: "is removed"}
	case c.Before == nil:
		e.Type, e.What = ObjectAdded, "is added with "+sayFields(fields, mostAdded, sayValue)
	default:
		e.Type, e.What = FieldsChanged, "changes "+sayFields(fields, mostChanged, sayChange)
	}
	return e
}

// isWithin reports whether a field is at one of the paths, or below.
func isWithin(f diff.FieldChange, paths sets.Set[string]) bool {
	for start := range f.Starts() {
		if paths.Has(start) {
			return true
		}
	}
	return false
}

func pathsOf(fields []diff.FieldChange) (paths []string) {
	for _, f := range fields {
		paths = append(paths, f.Path)
	}
	return paths
}

// identity are the fields in the ID of an object.
var identity = []string{"apiVersion", "kind", "metadata.name", "metadata.namespace"}

// generated are fields that Gatehouse computes from others.
var generated = []string{
	"metadata.annotations[" + kind.DigestAnnotation + "]",
	"metadata.annotations[" + registry.RenderingAnnotation + "]",
}

// ownFields returns the changed fields of an object that do not follow from a change of its source
// object, and the source object, or the object itself if it has none.
func (w *world) ownFields(c diff.Change) (fields []diff.FieldChange, owner manifest.ID) {
	o := c.Object().Unstructured
	fields = slices.DeleteFunc(w.fieldsOf(c), func(f diff.FieldChange) bool {
		return slices.ContainsFunc(generated, f.IsIn) || c.Action() != diff.Changed && slices.Contains(identity, f.Path)
	})
	owner, ok := diff.OwnerOf(w.Kinds, o)
	if !ok || owner == idOf(o) {
		return fields, idOf(o)
	}
	overridden, around := sets.Set[string]{}, sets.Set[string]{} // paths, and paths with one of them below
	for _, f := range slices.Concat(w.before.overridden(w, owner, c.Before), w.after.overridden(w, owner, c.After)) {
		overridden.Insert(f.Path)
		around.Insert(slices.Collect(f.Starts())...)
	}
	return slices.DeleteFunc(fields, func(f diff.FieldChange) bool {
		return !isWithin(f, overridden) && !around.Has(f.Path)
	}), owner
}

// overridden returns the fields of a rendered object that differ from the rendering of its source
// object alone: an override sets them, or another build of the kind.
func (s side) overridden(w *world, owner manifest.ID, o *unstructured.Unstructured) []diff.FieldChange {
	if o == nil {
		return nil
	}
	alone := s.rendered(w, owner, o)
	if alone != nil {
		alone.SetName(o.GetName())
	}
	return diff.Change{Before: alone, After: o}.Fields()
}

// rendered renders a source object again and returns a copy of the rendered object like o, or nil.
func (s side) rendered(w *world, owner manifest.ID, o *unstructured.Unstructured) *unstructured.Unstructured {
	again, ok := s.again[owner]
	if from := s.owners[owner]; !ok && from != nil {
		if valid, _ := w.checks.Objects([]manifest.Object{{Unstructured: from}}); len(valid) > 0 {
			expanded, err := w.Kinds.Expand(valid[0].Unstructured)
			if err == nil {
				again = expanded.Objects
			}
		}
		s.again[owner] = again
	}
	i := slices.IndexFunc(again, func(other *unstructured.Unstructured) bool {
		isNamed := other.GetName() == o.GetName() || registry.IsHashName(o.GetName(), other.GetName())
		return isNamed && other.GroupVersionKind().GroupKind() == o.GroupVersionKind().GroupKind()
	})
	if i < 0 {
		return nil
	}
	return again[i].DeepCopy()
}

// The number of fields of an object that are told one by one. Of an added object the diff is as short.
const (
	mostChanged = 50
	mostAdded   = 16
)

// sayFields lists fields with their values. If there are too many, it counts the fields of branches.
func sayFields(fields []diff.FieldChange, most int, say func(diff.FieldChange) kind.Sentence) kind.Sentence {
	var said []string
	for _, branch := range branchesOf(fields, most) {
		if len(branch.fields) == 1 {
			said = append(said, string(say(branch.fields[0])))
		} else {
			said = append(said, string(kind.Say("%s (%s)", branch.path, kind.Count(int64(len(branch.fields)), "field"))))
		}
	}
	return kind.Sentence(strings.Join(said, "; "))
}

// sayValue describes a field of an added object.
func sayValue(f diff.FieldChange) kind.Sentence {
	return kind.Say("%s: %s", f.Path, *f.After)
}

// sayChange describes a field of a changed object.
func sayChange(f diff.FieldChange) kind.Sentence {
	const unset = kind.Sentence("unset")
	switch {
	case f.Before == nil:
		return kind.Say("%s: %s → %s", f.Path, unset, *f.After)
	case f.After == nil:
		return kind.Say("%s: %s → %s", f.Path, *f.Before, unset)
	}
	was, is := kind.SayBoth(*f.Before, *f.After)
	return kind.Say("%s: %s → %s", f.Path, was, is)
}

// branch is a common start of the paths of fields.
type branch struct {
	path   string
	fields []diff.FieldChange
}

// branchesOf returns the longest branches of sorted fields, at most a number of them if possible.
func branchesOf(fields []diff.FieldChange, most int) (branches []branch) {
	depth := 16
	if len(fields) <= most {
		depth = math.MaxInt
	}
	steps := make([][][]int, len(fields))
	for i, f := range fields {
		steps[i] = pathStep.FindAllStringIndex(f.Path, depth)
	}
	for ; depth > 0; depth-- {
		branches = nil
		for i, f := range fields {
			path := f.Path
			if len(steps[i]) >= depth {
				path = path[:steps[i][depth-1][1]]
			}
			last := len(branches) - 1
			if last < 0 || branches[last].path != path {
				branches = append(branches, branch{path: path})
				last++
			}
			branches[last].fields = append(branches[last].fields, f)
		}
		if len(branches) <= most {
			break
		}
	}
	return branches
}

// pathStep matches a key or index in a path.
var pathStep = regexp.MustCompile(`\.?[^.\[]+|\[[^]]*\]`)

// sayFollowing names the changed rendered objects that follow their source object.
func sayFollowing(changes []diff.Change) kind.Sentence {
	said := make([]string, len(changes))
	for i, c := range changes {
		said[i] = string(kind.Say("%s (", c.Object().String()) + kind.Sentence(c.Action()) + ")")
	}
	return "its rendered objects follow: " + kind.Sentence(strings.Join(said, ", "))
}
