package kind

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Expand returns what a valid, defaulted object is rendered to: nothing where it is not of
// a kind that people write. Names of immutable objects are those before HashName. Errors
// are of the kind, not of who wrote the object.
func (k *Kinds) Expand(object *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	kind := k.Find(object.GroupVersionKind())
	if kind == nil {
		return nil, nil
	}
	owner := kind.New()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, owner); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return kind.Expand(owner)
}

// Expand returns what a valid, defaulted object of the kind's Go type is rendered to.
func (k *Kind) Expand(owner Object) ([]*unstructured.Unstructured, error) {
	objects, err := k.expandSafely(owner)
	if err != nil {
		return nil, err
	}
	expanded := make([]*unstructured.Unstructured, len(objects))
	errs := make([]error, len(objects))
	for i, o := range objects {
		expanded[i], errs[i] = k.complete(o, owner)
	}
	return expanded, errors.Join(errs...)
}

// expandSafely returns what the kind's own Expand does, which gets an object of its own.
func (k *Kind) expandSafely(owner Object) (objects []Object, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("Expand of %s panics: %v", k.GVK.Kind, cause)
		}
	}()
	return k.expand(owner.DeepCopyObject().(Object))
}

// complete is an object that Expand returned, with the metadata of all that is rendered
// from owner.
func (k *Kind) complete(o, owner Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, fmt.Errorf("write %T: %w", o, err)
	}
	dropEmpty(content)
	u := &unstructured.Unstructured{Object: content}
	child := k.child(u.GroupVersionKind().GroupKind())
	digest := ""
	if child != nil && !child.Unobserved {
		digest = k.digestOf(u, owner)
	}
	k.setMetadata(u, owner, digest)
	return u, nil
}

// setMetadata gives an object the name and namespace of its owner where it has none, the
// owner's labels and annotations that it shares, and the labels and the digest of the
// contract.
func (k *Kind) setMetadata(u *unstructured.Unstructured, owner metav1.Object, digest string) {
	u.SetName(cmp.Or(u.GetName(), owner.GetName()))
	u.SetNamespace(cmp.Or(u.GetNamespace(), owner.GetNamespace()))

	labels := RecommendedLabels(owner.GetName(), k.GVK.Kind)
	copyShared(labels, owner.GetLabels())
	maps.Copy(labels, u.GetLabels())
	labels[k.Label], labels[ManagedByLabel] = owner.GetName(), ManagedBy
	u.SetLabels(labels)

	annotations := map[string]string{}
	copyShared(annotations, owner.GetAnnotations())
	if wave, ok := owner.GetAnnotations()[waveAnnotation]; ok {
		annotations[waveAnnotation] = wave
	}
	maps.Copy(annotations, u.GetAnnotations())
	delete(annotations, DigestAnnotation)
	if digest != "" {
		annotations[DigestAnnotation] = digest
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
