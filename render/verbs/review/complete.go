package review

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
)

// complete keeps a review complete: rules only choose better words. A field needs no words of its own if it
// follows from the source object, whose own change has an effect. complete adds the effects of changed objects and fields that no effect explains.
func complete(w *world.World, effects []effect.Effect) []effect.Effect {
	explained := map[manifest.ID][]kind.Effect{}
	for _, e := range effects {
		explained[e.Object] = append(explained[e.Object], e.Effect)
	}
	following := map[manifest.ID][]diff.Change{}
	var more []effect.Effect
	for _, c := range slices.Concat(w.Changes, w.Definitions) {
		id := c.Object().ID()
		fields, owner := ownFields(w, c)
		if e := reviewFields(c, fields, explained[id]); e.Type != "" {
			e.Risk = lossOf(w, c)
			more = append(more, effect.Of(id, e)...)
		} else if owner != id && len(explained[id]) == 0 {
			following[owner] = append(following[owner], c)
		}
	}
	for i, e := range more {
		if changes := following[e.Object]; changes != nil {
			follow := reviewFollowing(w, changes)
			more[i].What, more[i].Risk = e.What+"; "+follow.What, max(e.Risk, follow.Risk)
			delete(following, e.Object)
		}
	}
	for _, owner := range slices.SortedFunc(maps.Keys(following), effect.CompareObjects) {
		more = append(more, effect.Of(owner, reviewFollowing(w, following[owner]))...)
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
	switch {
	case len(fields) == 0, c.After == nil && len(explained) > 0:
		return kind.Effect{}
	case c.After == nil:
		return kind.Effect{Type: effect.ObjectRemoved, What: "is removed"}
	}
	e := effect.OfFields(c, fields)
	if e.Type = effect.FieldsChanged; c.Before == nil {
		e.Type = effect.ObjectAdded
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

// identity are the fields in the ID of an object.
var identity = []string{"apiVersion", "kind", "metadata.name", "metadata.namespace"}

// generated are fields that Gatehouse computes from others.
var generated = []string{
	"metadata.annotations[" + kind.DigestAnnotation + "]",
	"metadata.annotations[" + registry.RenderingAnnotation + "]",
}

// ownFields returns the changed fields of an object that do not follow from a change of its source
// object, and the source object, or the object itself if it has none.
func ownFields(w *world.World, c diff.Change) (fields []diff.FieldChange, owner manifest.ID) {
	o := c.Object().Unstructured
	fields = slices.DeleteFunc(w.FieldsOf(c), func(f diff.FieldChange) bool {
		return slices.ContainsFunc(generated, f.IsIn) || c.Action() != diff.Changed && slices.Contains(identity, f.Path)
	})
	owner, ok := diff.OwnerOf(w.Kinds, o)
	if !ok || owner == world.IDOf(o) {
		return fields, world.IDOf(o)
	}
	overridden, around := sets.Set[string]{}, sets.Set[string]{} // paths, and paths with one of them below
	for _, f := range w.Overridden(owner, c) {
		overridden.Insert(f.Path)
		around.Insert(slices.Collect(f.Starts())...)
	}
	return slices.DeleteFunc(fields, func(f diff.FieldChange) bool {
		return !isWithin(f, overridden) && !around.Has(f.Path)
	}), owner
}

// reviewFollowing names the changed rendered objects that follow their source object.
func reviewFollowing(w *world.World, changes []diff.Change) kind.Effect {
	e, said := kind.Effect{Type: effect.RenderedFollow}, make([]kind.Sentence, len(changes))
	for i, c := range changes {
		said[i] = kind.Say("%s (", c.Object().String()) + kind.Sentence(c.Action()) + ")"
		e.Risk = max(e.Risk, lossOf(w, c)) // a Job that runs again comes before others
	}
	e.What = "its rendered objects follow: " + effect.Join(said, ", ")
	return e
}

// lossOf returns the risk of a removed or replaced rendered object, unless the kind of its source object has a review.
func lossOf(w *world.World, c diff.Change) kind.Sentence {
	o, action := c.Object().Unstructured, c.Action()
	k := w.Kinds.RenderedFrom(o)
	switch {
	case k == nil || k.Review != nil || !manifest.MakesPods(o) || o.GetKind() == "CronJob":
	case action == diff.Replaced && o.GetKind() == "Job":
		return "it runs again, and its running Pods are stopped"
	case action == diff.Removed, action == diff.Replaced:
		return "its running Pods are stopped"
	}
	return ""
}
