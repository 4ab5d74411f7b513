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
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"

	"example.com/gatehouse/kind"
)

// Expanded is what an object is rendered to.
type Expanded struct {
	// Objects are in the order in which Expand returned them. Names of immutable objects are those
	// before HashName.
	Objects []*unstructured.Unstructured

	// Observed identify those of the objects that a status depends on.
	Observed []Child

	// Rendering is the value of RenderingAnnotation for the object; zero where no status is
	// decided by what Expand returns.
	Rendering Rendering
}

// Expand returns what a valid, defaulted object is rendered to: nothing where it is not of
// a kind that people write. Its error names the object, and has all that is wrong with what its
// kind makes of it.
func (k *Kinds) Expand(object *unstructured.Unstructured) (Expanded, error) {
	found := k.Find(object.GroupVersionKind())
	if found == nil || found.IsConverted() {
		return Expanded{}, nil
	}
	owner, err := read(found, object)
	if err != nil {
		return Expanded{}, err
	}
	e := entry{Kind: found, all: k.All}
	return e.expand(owner)
}

// Expand returns what a valid, defaulted object of a kind's Go type is rendered to.
func Expand(k *kind.Kind, owner kind.Object) (Expanded, error) {
	e := entry{Kind: k, all: []kind.Kind{*k}}
	return e.expand(owner)
}

// read returns an object as the Go type of a kind. It reads the object as a client of the API
// server does: people's types have ways of their own to be written, which the converter of untyped
// objects does not know.
func read(k *kind.Kind, object *unstructured.Unstructured) (kind.Object, error) {
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

// These bound what one object may be rendered to: more is a mistake, and no reviewer reads it.
const (
	maxObjects = 1000
	maxSize    = 16 << 20 // characters
)

// expand returns what an object of the kind is rendered to. Its error has all that is wrong with
// that, and names the object.
func (e *entry) expand(owner kind.Object) (expanded Expanded, err error) {
	title := e.GVK().Kind + " " + owner.GetName()
	objects, err := call("Expand", func() ([]result, error) { return e.objectsOf(copyOf(owner)) })
	digest := ""
	if err == nil && e.HasDigest() {
		digest, err = call("Digest", func() (string, error) { return e.Digest(copyOf(owner)), nil })
	}
	if err != nil {
		return Expanded{}, titled(title, err)
	}
	e.checkOwner(owner, digest)
	for i, o := range objects {
		if o.err != nil {
			e.add("object %d of %d: %v", i+1, len(objects), o.err)
			continue
		}
		e.setMetadata(o.Unstructured, owner, digest)
		e.checkExpanded(o.Unstructured, owner)
		expanded.Objects = append(expanded.Objects, o.Unstructured)
	}
	e.checkDistinct(expanded.Objects)
	if err := e.errorOf(title); err != nil {
		return Expanded{}, err
	}
	expanded.Observed = e.observed(expanded.Objects)
	expanded.Rendering, err = e.rendering(owner, expanded.Observed)
	return expanded, err
}

// copyOf returns a copy of an object without RenderingAnnotation, on which nothing depends.
func copyOf(owner kind.Object) kind.Object {
	copied := owner.DeepCopyObject().(kind.Object)
	annotations := copied.GetAnnotations()
	delete(annotations, RenderingAnnotation)
	copied.SetAnnotations(annotations)
	return copied
}

// titled returns each of the errors that err is made of with a title.
func titled(title string, err error) error {
	all := Errors(err)
	for i := range all {
		all[i] = fmt.Errorf("%s: %w", title, all[i])
	}
	return errors.Join(all...)
}

// result is an object that Expand returned, or what is wrong with it.
type result struct {
	*unstructured.Unstructured
	err error
}

// objectsOf calls Expand, and returns its objects as far as they are within bounds.
func (e *entry) objectsOf(owner kind.Object) (results []result, err error) {
	objects, err := e.Expand(owner)
	if err == nil && len(objects) > maxObjects {
		err = fmt.Errorf("Expand returns %d objects: at most %d are rendered from one", len(objects), maxObjects)
	}
	if err != nil {
		return nil, err
	}
	m := measurement{of: "Expand", left: maxSize}
	for _, o := range objects {
		u, err := unstructuredFrom(o, &m)
		if m.left < 0 {
			return nil, err
		}
		results = append(results, result{u, err})
	}
	return results, nil
}

// unstructuredFrom returns an object that Expand returned, with its apiVersion and kind, where
// they are known, and without what a Go struct writes though nobody set it.
// It takes the size of the object off what is left.
func unstructuredFrom(o kind.Object, m *measurement) (*unstructured.Unstructured, error) {
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
			return nil, fmt.Errorf("its metadata.%s are not a mapping of texts: have Expand write them so", field)
		}
	}
	dropEmpty(content)
	return u, nil
}

// isNil reports whether an object is nil, or a pointer that is.
func isNil(o kind.Object) bool {
	return o == nil || reflect.ValueOf(o).Kind() == reflect.Pointer && reflect.ValueOf(o).IsNil()
}

// measurement is what is known of the size of what a function of a kind returns.
type measurement struct {
	of    string // the function
	left  int    // how much larger it may be
	isCut bool   // it has text that is not UTF-8
}

// measure takes the length of all texts in a value, and of its lists and mappings, off what is left.
// It stops where nothing is.
func (m *measurement) measure(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if m.left -= v.Len(); m.left >= 0 {
			m.isCut = m.isCut || !utf8.ValidString(v.String())
		}
	case reflect.Pointer, reflect.Interface:
		const room = 64 // with it, a value that contains itself comes to an end before the stack does
		if m.left -= room; !v.IsNil() && m.left >= 0 {
			m.measure(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			m.measure(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		m.left -= v.Len()
		for i := 0; i < v.Len() && m.left >= 0 && v.Type().Elem().Kind() > reflect.Complex128; i++ {
			m.measure(v.Index(i))
		}
	case reflect.Map:
		m.left -= v.Len()
		for entries := v.MapRange(); m.left >= 0 && entries.Next(); {
			m.measure(entries.Key())
			m.measure(entries.Value())
		}
	}
}

// contentOf returns an object as JSON has it, unless it is too large, or has text that JSON changes, so
// that a cluster would get it otherwise than it was reviewed. What it returns shares nothing with the
// object: who wrote an untyped one may have put in it what only JSON makes plain, like an int.
func contentOf(o kind.Object, m *measurement) (content map[string]any, err error) {
	m.isCut = false
	switch m.measure(reflect.ValueOf(o)); {
	case m.left < 0:
		return nil, fmt.Errorf("%s returns objects of more than %d MiB: one object is rendered to less", m.of, maxSize>>20)
	case m.isCut:
		return nil, fmt.Errorf("%T %q has text that is not UTF-8: cut texts between characters", o, o.GetName())
	}
	if untyped, ok := o.(*unstructured.Unstructured); ok {
		var written []byte
		if written, err = json.Marshal(untyped.Object); err == nil {
			err = utiljson.Unmarshal(written, &content)
		}
	} else {
		content, err = runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	}
	if err != nil {
		return nil, fmt.Errorf("write %T: %w", o, err)
	}
	return content, nil
}

// setMetadata gives an object the name and namespace of its owner where it has none, the
// owner's labels and annotations that it shares, and the labels and the digest of the
// contract.
func (e *entry) setMetadata(u *unstructured.Unstructured, owner metav1.Object, digest string) {
	switch {
	case e.Observes(u.GroupVersionKind().GroupKind()) == nil:
		digest = "" // no status depends on the object
	case !e.HasDigest():
		digest = kind.DigestOf(u.Object) // as Expand made it: no label or annotation of its owner changes that
	}
	u.SetName(cmp.Or(u.GetName(), owner.GetName()))
	u.SetNamespace(cmp.Or(u.GetNamespace(), owner.GetNamespace()))

	labels := kind.RecommendedLabels(owner.GetName(), e.GVK().Kind)
	copyShared(labels, owner.GetLabels())
	maps.Copy(labels, u.GetLabels())
	labels[e.Label()], labels[kind.ManagedByLabel] = owner.GetName(), kind.ManagedBy
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

// dropEmpty drops what a Go struct writes though nobody set it.
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
