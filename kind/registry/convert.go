package registry

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/gatehouse/kind"
)

// Convert returns a valid, defaulted object of an older version in the rendered version. It returns nil
// for any other object.
func (k *Kinds) Convert(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	from := k.Find(object.GroupVersionKind())
	if from == nil || !from.IsConverted() {
		return nil, nil
	}
	old, err := decode(from, object)
	if err != nil {
		return nil, err
	}
	to := k.FindRendered(from.GVK().GroupKind())
	content, err := call("Convert", func() (map[string]any, error) {
		converted, err := from.Convert(old)
		switch {
		case err != nil:
			return nil, err
		case isNil(converted):
			return nil, errors.New("Convert returns nil: have it return an object of the rendered version, or an error")
		case reflect.TypeOf(converted) != reflect.TypeOf(to.New()):
			return nil, fmt.Errorf("Convert returns a %T: have it return an object of the rendered version", converted)
		}
		return contentOf(converted, &measure{function: "Convert", left: maxSize})
	})
	if err != nil {
		return nil, prefixed(from.GVK().Kind+" "+object.GetName(), err)
	}
	delete(content, "status")
	content["metadata"] = runtime.DeepCopyJSONValue(object.Object["metadata"])
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(to.GVK())
	return u, nil
}

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
