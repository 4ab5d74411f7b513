package registry

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Convert returns a valid, defaulted object in the version that is rendered in its place; nil
// where it is rendered as it is.
func (k *Kinds) Convert(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	from := k.Find(object.GroupVersionKind())
	if from == nil || !from.IsConverted() {
		return nil, nil
	}
	old, err := read(from, object)
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
			return nil, errors.New("Convert returns nil: have it return the version of the kind that is rendered, or an error")
		case reflect.TypeOf(converted) != reflect.TypeOf(to.New()):
			return nil, fmt.Errorf("Convert returns a %T: have it return the version of the kind that is rendered", converted)
		}
		return contentOf(converted, &measurement{of: "Convert", left: maxSize})
	})
	if err != nil {
		return nil, titled(from.GVK().Kind+" "+object.GetName(), err)
	}
	delete(content, "status")
	content["metadata"] = runtime.DeepCopyJSONValue(object.Object["metadata"])
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(to.GVK())
	return u, nil
}
