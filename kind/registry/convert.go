package registry

import (
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
	old, err := read(from, object)
	if err != nil {
		return nil, err
	}
	converted, err := call("Convert", func() (kind.Object, error) { return from.Convert(old) })
	title := from.GVK().Kind + " " + object.GetName()
	to := k.FindRendered(from.GVK().GroupKind())
	switch {
	case err != nil:
		return nil, titled(title, err)
	case isNil(converted):
		return nil, fmt.Errorf("%s: Convert returns nil: have it return the version of the kind that is rendered, or an error", title)
	case reflect.TypeOf(converted) != reflect.TypeOf(to.New()):
		return nil, fmt.Errorf("%s: Convert returns a %T: have it return the version of the kind that is rendered", title, converted)
	}
	m := measurement{left: maxSize}
	switch m.measure(reflect.ValueOf(converted)); {
	case m.left < 0:
		return nil, fmt.Errorf("%s: Convert returns an object of more than %d MiB: have it return less", title, maxSize>>20)
	case m.isCut:
		return nil, fmt.Errorf("%s: Convert: %s", title, cutText)
	}
	content, err := call("a MarshalJSON", func() (map[string]any, error) {
		return runtime.DefaultUnstructuredConverter.ToUnstructured(converted)
	})
	if err != nil {
		return nil, fmt.Errorf("write %T: %w", converted, err)
	}
	delete(content, "status")
	content["metadata"] = object.Object["metadata"]
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(to.GVK())
	return u, nil
}
