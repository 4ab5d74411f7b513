package registry

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
)

// Review returns what the kind of an object says of a change of the object. Before or after is
// nil where the change adds or removes it. An error says why the kind cannot tell.
func (k *Kinds) Review(reviewer *kind.Kind, before, after *unstructured.Unstructured, children []kind.ChildChange, now time.Time) ([]kind.Effect, error) {
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

// ReviewCRD returns what a kind says of a change of its CustomResourceDefinition.
func ReviewCRD(reviewer *kind.Kind, before, after *unstructured.Unstructured) ([]kind.Effect, error) {
	return call("its ReviewCRD", func() ([]kind.Effect, error) {
		return reviewer.ReviewCRD(kind.Change[unstructured.Unstructured]{Before: before, After: after}), nil
	})
}

// typed returns an object, of any version, as the Go type of a kind; nil for nil.
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
	return read(to, object)
}

// Decide returns what a kind that has Status says of an object of its Go type.
func Decide(k *kind.Kind, owner kind.Object, seen kind.Observation) (kind.Decision[any], error) {
	return call("Status", func() (kind.Decision[any], error) { return k.Status(owner, seen), nil })
}
