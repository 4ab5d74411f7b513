package registry

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/gatehouse/kind"
)

// Convert returns a valid, defaulted object in the version that is rendered in its place; nil
// where it is rendered as it is.
func (k *Kinds) Convert(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	from := k.Find(object.GroupVersionKind())
	if from == nil || !from.IsConverted() {
		return nil, nil
	}
	converted, err := entry{from}.convertSafely(object)
	if err != nil {
		return nil, err
	}
	title := from.GVK.Kind + " " + object.GetName()
	to := k.ofType(converted)
	switch {
	case isNil(converted):
		return nil, fmt.Errorf("%s: Convert returns nil: have it return the version of the kind that is rendered, or an error", title)
	case to == nil || to.GVK.GroupKind() != from.GVK.GroupKind():
		return nil, fmt.Errorf("%s: Convert returns a %T: have it return the version of the kind that is rendered", title, converted)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(converted)
	if err != nil {
		return nil, fmt.Errorf("write %T: %w", converted, err)
	}
	delete(content, "status")
	found := problems{}
	if checkText("Convert", content, &found); len(found) > 0 {
		return nil, errors.Join(found.errorsOf(title)...)
	}
	content["metadata"] = object.Object["metadata"]
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(to.GVK)
	return u, nil
}

func (k entry) convertSafely(object *unstructured.Unstructured) (converted kind.Object, err error) {
	defer reportPanic(k.GVK.Kind+" "+object.GetName()+": Convert", &err)
	from := k.New()
	if err := read(object, from); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	if converted, err = k.Convert(from); err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.GVK.Kind, object.GetName(), err)
	}
	return converted, nil
}

// ofType returns the kind of the Go type of an object that is rendered; nil where there is none.
func (k *Kinds) ofType(o kind.Object) *kind.Kind {
	for i := range k.All {
		if !k.All[i].IsConverted() && reflect.TypeOf(k.All[i].New()) == reflect.TypeOf(o) {
			return &k.All[i]
		}
	}
	return nil
}
