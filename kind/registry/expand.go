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
	owner := found.New()
	if err := read(object, owner); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return entry{found}.expandAmong(k.All, owner)
}

// read reads an object as a client of the API server does: people's types have ways of their
// own to be written, which the converter of untyped objects does not know.
func read(object *unstructured.Unstructured, owner kind.Object) error {
	content, err := json.Marshal(object.Object)
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(content, owner)
}

// Expand returns what a valid, defaulted object of a kind's Go type is rendered to.
func Expand(k *kind.Kind, owner kind.Object) ([]*unstructured.Unstructured, error) {
	return entry{k}.expandAmong([]kind.Kind{*k}, owner)
}

// maxObjects is how many objects one may be rendered to: more is a mistake, and no reviewer
// reads it.
const maxObjects = 1000

// expandAmong returns what an object of a kind of a list is rendered to. Its error has all
// that is wrong with that, and names the object.
func (k entry) expandAmong(all []kind.Kind, owner kind.Object) (expanded []*unstructured.Unstructured, err error) {
	title, function := k.GVK.Kind+" "+owner.GetName(), "Expand"
	defer func() {
		if cause := recover(); cause != nil {
			expanded, err = nil, fmt.Errorf("%s: %s panics: %v", title, function, cause)
		}
	}()
	objects, err := k.Expand(owner.DeepCopyObject().(kind.Object))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", title, err)
	case len(objects) > maxObjects:
		return nil, fmt.Errorf("%s: Expand returns %d objects: at most %d are rendered from one", title, len(objects), maxObjects)
	}
	if k.Digest != nil {
		function = "Digest"
	}
	found := problems{}
	checkLabelValue(owner.GetName(), k.Label, &found)
	for i, o := range objects {
		u, err := unstructuredFrom(o)
		if err != nil {
			found.add("object %d of %d: %v", i+1, len(objects), err)
			continue
		}
		k.checkReturned(all, u, owner, &found)
		k.setMetadata(u, owner, k.digestOf(u, owner))
		expanded = append(expanded, u)
	}
	k.checkExpanded(all, expanded, &found)
	if len(found) > 0 {
		return nil, errors.Join(found.errorsOf(title)...)
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
	dropEmpty(content)
	return u, nil
}

// isNil reports whether an object is nil, or a pointer that is.
func isNil(o kind.Object) bool {
	if o == nil {
		return true
	}
	v := reflect.ValueOf(o)
	return v.Kind() == reflect.Pointer && v.IsNil()
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
func (k entry) setMetadata(u *unstructured.Unstructured, owner metav1.Object, digest string) {
	u.SetName(cmp.Or(u.GetName(), owner.GetName()))
	u.SetNamespace(cmp.Or(u.GetNamespace(), owner.GetNamespace()))

	labels := kind.RecommendedLabels(owner.GetName(), k.GVK.Kind)
	copyShared(labels, owner.GetLabels())
	maps.Copy(labels, u.GetLabels())
	labels[k.Label], labels[kind.ManagedByLabel] = owner.GetName(), kind.ManagedBy
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

// digestOf returns the digest of an object that Expand returned, empty where no status depends on
// it: that of what the kind says that it is rendered from, or else of the object as Expand
// made it, which no label or annotation of its owner changes.
func (k entry) digestOf(u *unstructured.Unstructured, owner kind.Object) string {
	switch {
	case k.Observes(u.GroupVersionKind().GroupKind()) == nil:
		return ""
	case k.Digest != nil:
		return k.Digest(owner)
	}
	return kind.DigestOf(u.Object)
}
