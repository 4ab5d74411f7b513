package world

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
)

// Overridden returns the fields of a changed rendered object, before and after, that differ from the
// rendering of its source object alone: an override sets them, or another build of the kind.
func (w *World) Overridden(owner manifest.ID, c compare.Change) []compare.FieldChange {
	return slices.Concat(w.overridden(w.Before, owner, c.Before), w.overridden(w.After, owner, c.After))
}

func (w *World) overridden(s Side, owner manifest.ID, o *unstructured.Unstructured) []compare.FieldChange {
	if o == nil {
		return nil
	}
	alone := w.rendered(s, owner, o)
	if alone != nil {
		alone.SetName(o.GetName())
	}
	return compare.Change{Before: alone, After: o}.Fields()
}

// rendered renders a source object again and returns a copy of the rendered object like o, or nil.
func (w *World) rendered(s Side, owner manifest.ID, o *unstructured.Unstructured) *unstructured.Unstructured {
	again, ok := s.again[owner]
	if from := s.Owners[owner]; !ok && from != nil {
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
