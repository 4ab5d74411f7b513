package registry

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
)

// Review returns the effects of a change of an object. Before or after is nil if the change adds or
// removes it.
func (k *Kinds) Review(reviewer *kind.Kind, before, after *unstructured.Unstructured, children []kind.ChildChange,
	now time.Time) ([]kind.Effect, error) {
	was, err := k.typed(reviewer, before)
	if err != nil {
		return nil, err
	}
	is, err := k.typed(reviewer, after)
	if err != nil {
		return nil, err
	}
	return call("its Review", func() ([]kind.Effect, error) { return reviewer.Review(was, is, children, now), nil })
}

// ReviewCRD returns the effects of a change of the CustomResourceDefinition of a kind.
func ReviewCRD(reviewer *kind.Kind, before, after *unstructured.Unstructured) ([]kind.Effect, error) {
	if reviewer.ReviewCRD == nil {
		return nil, nil
	}
	return call("its ReviewCRD", func() ([]kind.Effect, error) {
		return reviewer.ReviewCRD(kind.Change[unstructured.Unstructured]{Before: before, After: after}), nil
	})
}

// typed returns an object of any version as the Go type of a kind; nil for nil.
func (k *Kinds) typed(to *kind.Kind, object *unstructured.Unstructured) (kind.Object, error) {
	if object == nil {
		return nil, nil
	}
	converted, err := k.Convert(object)
	if err != nil {
		return nil, err
	}
	if converted != nil {
		object = converted
	}
	return decode(to, object)
}

// Decide calls the Status of a kind that has one, with an object of the Go type.
func Decide(k *kind.Kind, owner kind.Object, seen kind.Observation) (kind.Decision[any], error) {
	return call("Status", func() (kind.Decision[any], error) { return k.Status(owner, seen), nil })
}
