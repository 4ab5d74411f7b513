package compare

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
)

// Overridden returns the fields of a changed rendered object, before and after, that differ from the
// rendering of its source object alone: an override sets them, or another build of the kind.
func (both *Comparison) Overridden(owner manifest.ID, c Change) []FieldChange {
	return slices.Concat(both.overridden(both.Before(), owner, c.Before), both.overridden(both.After(), owner, c.After))
}

func (both *Comparison) overridden(s *Side, owner manifest.ID, o *unstructured.Unstructured) []FieldChange {
	if o == nil {
		return nil
	}
	alone := both.rendered(s, owner, o)
	if alone != nil {
		alone.SetName(o.GetName())
	}
	return Change{Before: alone, After: o}.Fields()
}

// rendered renders a source object again and returns a copy of the rendered object like o, or nil.
func (both *Comparison) rendered(s *Side, owner manifest.ID, o *unstructured.Unstructured) *unstructured.Unstructured {
	again, ok := s.again[owner]
	if from := s.Owners[owner]; !ok && from != nil {
		if valid, _ := both.checker().Objects([]manifest.Object{{Unstructured: from}}); len(valid) > 0 {
			expanded, err := both.Kinds.Expand(valid[0].Unstructured)
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
