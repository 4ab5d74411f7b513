package registry

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"

	"example.com/gatehouse/kind"
)

// Expanded is the result of expanding a source object.
type Expanded struct {
	// Objects are the rendered objects, in the order of Expand. HashName has yet to name the
	// immutable ones.
	Objects []*unstructured.Unstructured

	// Observed identifies the rendered objects that the status depends on.
	Observed []Child

	// Rendering is the value of RenderingAnnotation. It is zero if the status does not depend on
	// the result of Expand.
	Rendering Rendering
}

// Expand expands a valid, defaulted source object. It returns nothing for any other object. Its error
// has the problems of all rendered objects.
func (k *Kinds) Expand(object *unstructured.Unstructured) (Expanded, error) {
	found := k.Find(object.GroupVersionKind())
	if found == nil || found.IsConverted() {
		return Expanded{}, nil
	}
	owner, err := decode(found, object)
	if err != nil {
		return Expanded{}, err
	}
	e := entry{Kind: found, kinds: k}
	return e.expand(owner)
}

// Expand expands a valid, defaulted object of the kind's Go type.
func Expand(k *kind.Kind, owner kind.Object) (Expanded, error) {
	e := entry{Kind: k, kinds: &Kinds{All: []kind.Kind{*k}}}
	return e.expand(owner)
}

// decode returns an object as the Go type of a kind. It decodes JSON, as a client of the API server
// does: the converter for unstructured objects would not call UnmarshalJSON of all types.
func decode(k *kind.Kind, object *unstructured.Unstructured) (kind.Object, error) {
	typed := k.New()
	content, err := json.Marshal(object.Object)
	if err == nil {
		_, err = call("an UnmarshalJSON", func() (any, error) { return nil, utiljson.Unmarshal(content, typed) })
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return typed, nil
}

// Limits of the rendered objects of one source object. More is a mistake, and too much to review.
const (
	maxObjects = 1000
	maxSize    = 16 << 20 // bytes
)

// expand expands an object of the kind's Go type. Its error has the problems of all rendered objects.
func (e *entry) expand(owner kind.Object) (expanded Expanded, err error) {
	title := e.GVK().Kind + " " + owner.GetName()
	objects, err := call("Expand", func() ([]result, error) { return e.callExpand(copyOf(owner)) })
	digest := ""
	if err == nil && e.Digest != nil {
		digest, err = call("Digest", func() (string, error) { return e.Digest(copyOf(owner)), nil })
	}
	if err != nil {
		return Expanded{}, prefixed(title, err)
	}
	e.checkOwner(owner, digest)
	for i, o := range objects {
		if o.err != nil {
			e.add("object %d of %d: %v", i+1, len(objects), o.err)
			continue
		}
		e.setMetadata(o.Unstructured, owner, digest)
		e.checkChild(o.Unstructured, owner)
		expanded.Objects = append(expanded.Objects, o.Unstructured)
	}
	e.checkDistinct(expanded.Objects)
	if err := e.joined(title); err != nil {
		return Expanded{}, err
	}
	expanded.Observed = e.observed(expanded.Objects)
	expanded.Rendering, err = e.rendering(owner, expanded.Observed)
	return expanded, err
}

// copyOf returns a copy of an object without RenderingAnnotation.
func copyOf(owner kind.Object) kind.Object {
	copied := owner.DeepCopyObject().(kind.Object)
	annotations := copied.GetAnnotations()
	delete(annotations, RenderingAnnotation)
	copied.SetAnnotations(annotations)
	return copied
}

func prefixed(title string, err error) error {
	all := Errors(err)
	for i := range all {
		all[i] = fmt.Errorf("%s: %w", title, all[i])
	}
	return errors.Join(all...)
}

// result is an object that Expand returned, or its error.
type result struct {
	*unstructured.Unstructured
	err error
}

// callExpand calls Expand, and stops at the first object that exceeds the limits.
func (e *entry) callExpand(owner kind.Object) (results []result, err error) {
	objects, err := e.Expand(owner)
	if err == nil && len(objects) > maxObjects {
		err = fmt.Errorf("Expand returns %d objects: have it return at most %d", len(objects), maxObjects)
	}
	if err != nil {
		return nil, err
	}
	m := measure{function: "Expand", left: maxSize}
	for _, o := range objects {
		u, err := toUnstructured(o, &m)
		if m.left < 0 {
			return nil, err
		}
		results = append(results, result{u, err})
	}
	return results, nil
}

// toUnstructured returns an object as plain data, with its apiVersion and kind, and without the empty
// fields that Go structs always write.
func toUnstructured(o kind.Object, m *measure) (*unstructured.Unstructured, error) {
	if isNil(o) {
		return nil, errors.New("it is nil: leave it out")
	}
	content, err := contentOf(o, m)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	if u.GetAPIVersion() == "" || u.GetKind() == "" {
		gvks, _, err := scheme.Scheme.ObjectKinds(o)
		if err != nil {
			return nil, fmt.Errorf("%T has no apiVersion and kind: set its TypeMeta", o)
		}
		u.SetGroupVersionKind(gvks[0])
	}
	for _, field := range []string{"labels", "annotations"} {
		if _, _, err := unstructured.NestedStringMap(content, "metadata", field); err != nil {
			return nil, fmt.Errorf("its metadata.%s are not a mapping of strings to strings: correct Expand", field)
		}
	}
	dropEmpty(content)
	return u, nil
}

func isNil(o kind.Object) bool {
	return o == nil || reflect.ValueOf(o).Kind() == reflect.Pointer && reflect.ValueOf(o).IsNil()
}

// measure measures the objects that a function of a kind returns.
type measure struct {
	function string
	left     int  // the bytes up to the limit
	isCut    bool // a text is not UTF-8
}

// add subtracts the lengths of all texts, lists and mappings in a value from left, until it is negative.
func (m *measure) add(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if m.left -= v.Len(); m.left >= 0 {
			m.isCut = m.isCut || !utf8.ValidString(v.String())
		}
	case reflect.Pointer, reflect.Interface:
		const room = 64 // ends the recursion of a value that contains itself
		if m.left -= room; !v.IsNil() && m.left >= 0 {
			m.add(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			m.add(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		m.left -= v.Len()
		for i := 0; i < v.Len() && m.left >= 0 && v.Type().Elem().Kind() > reflect.Complex128; i++ {
			m.add(v.Index(i))
		}
	case reflect.Map:
		m.left -= v.Len()
		for entries := v.MapRange(); m.left >= 0 && entries.Next(); {
			m.add(entries.Key())
			m.add(entries.Value())
		}
	}
}

// contentOf returns an object as plain JSON data, unless it is too large, or has text that JSON would
// change after the review. Expand may have put other types into an untyped object, like an int.
func contentOf(o kind.Object, m *measure) (content map[string]any, err error) {
	m.isCut = false
	switch m.add(reflect.ValueOf(o)); {
	case m.left < 0:
		return nil, fmt.Errorf("%s returns more than %d MiB: have it return less", m.function, maxSize>>20)
	case m.isCut:
		return nil, fmt.Errorf("%T %q has text that is not UTF-8: cut texts between characters", o, o.GetName())
	}
	var plain any = o
	if untyped, ok := o.(*unstructured.Unstructured); ok {
		plain = untyped.Object
	}
	written, err := json.Marshal(plain)
	if err == nil {
		err = utiljson.Unmarshal(written, &content)
	}
	if err != nil {
		return nil, fmt.Errorf("write %T: %w", o, err)
	}
	return content, nil
}

// setMetadata completes the name, namespace, labels and annotations of a rendered object from its owner.
// It adds the labels and the digest for the controller.
func (e *entry) setMetadata(u *unstructured.Unstructured, owner metav1.Object, digest string) {
	switch {
	case e.Observes(u.GroupVersionKind().GroupKind()) == nil:
		digest = ""
	case e.Digest == nil:
		digest = kind.DigestOf(u.Object) // without the labels and annotations of its owner
	}
	u.SetName(cmp.Or(u.GetName(), owner.GetName()))
	u.SetNamespace(cmp.Or(u.GetNamespace(), owner.GetNamespace()))

	labels := kind.RecommendedLabels(owner.GetName(), e.GVK().Kind)
	copyShared(labels, owner.GetLabels())
	maps.Copy(labels, u.GetLabels())
	labels[e.Label()] = owner.GetName()
	labels[kind.ManagedByLabel] = kind.ManagedBy
	u.SetLabels(labels)

	annotations := map[string]string{}
	copyShared(annotations, owner.GetAnnotations())
	if wave, ok := owner.GetAnnotations()[waveAnnotation]; ok {
		annotations[waveAnnotation] = wave
	}
	maps.Copy(annotations, u.GetAnnotations())
	delete(annotations, RenderingAnnotation)
	delete(annotations, kind.DigestAnnotation)
	if digest != "" {
		annotations[kind.DigestAnnotation] = digest
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	u.SetAnnotations(annotations)
}

// dropEmpty drops the empty fields that Go structs always write.
func dropEmpty(content map[string]any) {
	delete(content, "status")
	for _, pod := range [][]string{{"spec"}, {"spec", "template", "spec"}} {
		containers, _, _ := unstructured.NestedFieldNoCopy(content, append(pod, "containers")...)
		list, _ := containers.([]any)
		for _, c := range list {
			container, _ := c.(map[string]any)
			if resources, _ := container["resources"].(map[string]any); len(resources) == 0 {
				delete(container, "resources")
			}
		}
	}
}
