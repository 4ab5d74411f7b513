package registry

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"

	"example.com/gatehouse/kind"
)

// Expand returns what a valid, defaulted object is rendered to: nothing where it is not of
// a kind that people write. Names of immutable objects are those before HashName. Its error
// names the object, and has all that is wrong with what its kind makes of it.
func (k *Kinds) Expand(object *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	found := k.Find(object.GroupVersionKind())
	if found == nil || found.IsConverted() {
		return nil, nil
	}
	owner, err := read(found, object)
	if err != nil {
		return nil, err
	}
	e := entry{Kind: found, all: k.All}
	return e.expand(owner)
}

// Expand returns what a valid, defaulted object of a kind's Go type is rendered to.
func Expand(k *kind.Kind, owner kind.Object) ([]*unstructured.Unstructured, error) {
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
		err = utiljson.Unmarshal(content, typed)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return typed, nil
}

// call calls a function of a kind. Where the function panics, the error says so.
func call[T any](name string, function func() (T, error)) (result T, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%s panics: %v", name, cause)
		}
	}()
	return function()
}

// maxObjects is how many objects one may be rendered to: more is a mistake, and no reviewer
// reads it.
const maxObjects = 1000

// expand returns what an object of the kind is rendered to. Its error has all that is wrong with
// that, and names the object.
func (e *entry) expand(owner kind.Object) (expanded []*unstructured.Unstructured, err error) {
	title := e.GVK.Kind + " " + owner.GetName()
	objects, err := call("Expand", func() ([]kind.Object, error) { return e.Expand(owner.DeepCopyObject().(kind.Object)) })
	if err == nil && len(objects) > maxObjects {
		err = fmt.Errorf("Expand returns %d objects: at most %d are rendered from one", len(objects), maxObjects)
	}
	digest := ""
	if err == nil && e.Digest != nil {
		digest, err = call("Digest", func() (string, error) { return e.Digest(owner), nil })
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", title, err)
	}
	e.checkOwner(owner, digest)
	for i, o := range objects {
		u, err := unstructuredFrom(o)
		if err != nil {
			e.add("object %d of %d: %v", i+1, len(objects), err)
			continue
		}
		e.setMetadata(u, owner, digest)
		e.checkExpanded(u, owner)
		expanded = append(expanded, u)
	}
	e.checkDistinct(expanded)
	if err := e.errorOf(title); err != nil {
		return nil, err
	}
	return expanded, nil
}

// unstructuredFrom returns an object that Expand returned, with its apiVersion and kind, where
// they are known, and without what a Go struct writes though nobody set it.
func unstructuredFrom(o kind.Object) (*unstructured.Unstructured, error) {
	if isNil(o) {
		return nil, errors.New("it is nil: leave it out")
	}
	content, err := contentOf(o)
	if err != nil {
		return nil, fmt.Errorf("write %T: %w", o, err)
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

// contentOf returns an object as JSON has it. It shares nothing with the object: who wrote an
// untyped one may have put in it what only JSON makes plain, like an int.
func contentOf(o kind.Object) (content map[string]any, err error) {
	untyped, ok := o.(*unstructured.Unstructured)
	if !ok {
		return runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	}
	written, err := json.Marshal(untyped.Object)
	if err != nil {
		return nil, err
	}
	return content, utiljson.Unmarshal(written, &content)
}

// setMetadata gives an object the name and namespace of its owner where it has none, the
// owner's labels and annotations that it shares, and the labels and the digest of the
// contract.
func (e *entry) setMetadata(u *unstructured.Unstructured, owner metav1.Object, digest string) {
	switch {
	case e.Observes(u.GroupVersionKind().GroupKind()) == nil:
		digest = "" // no status depends on the object
	case e.Digest == nil:
		digest = kind.DigestOf(u.Object) // as Expand made it: no label or annotation of its owner changes that
	}
	u.SetName(cmp.Or(u.GetName(), owner.GetName()))
	u.SetNamespace(cmp.Or(u.GetNamespace(), owner.GetNamespace()))

	labels := kind.RecommendedLabels(owner.GetName(), e.GVK.Kind)
	copyShared(labels, owner.GetLabels())
	maps.Copy(labels, u.GetLabels())
	labels[e.Label], labels[kind.ManagedByLabel] = owner.GetName(), kind.ManagedBy
	u.SetLabels(labels)

	annotations := map[string]string{}
	copyShared(annotations, owner.GetAnnotations())
	if wave, ok := owner.GetAnnotations()[waveAnnotation]; ok {
		annotations[waveAnnotation] = wave
	}
	maps.Copy(annotations, u.GetAnnotations())
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
