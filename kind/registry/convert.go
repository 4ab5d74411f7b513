package registry

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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
