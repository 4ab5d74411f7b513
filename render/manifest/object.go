// Package manifest has the objects of an environment, their YAML, and problems with them.
package manifest

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is one object of an environment.
type Object struct {
	*unstructured.Unstructured

	// Written is what people wrote, as kustomize built it: the object itself, or the
	// one that it was rendered from. It is nil where overrides added the object.
	Written *unstructured.Unstructured

	// Origin is the file that people wrote the object in, or the one that it was rendered
	// from, relative to the root; empty where that is unknown.
	Origin string

	// File is the file in rendered/ that holds the object, relative to the root, with slashes;
	// empty until the object is laid out.
	File string
}

// IsRendered reports whether the object was rendered from another.
func (o Object) IsRendered() bool {
	return o.Written != nil && o.Written != o.Unstructured
}

// Source returns what people wrote: the object itself, or the one it was rendered from.
func (o Object) Source() Object {
	return Object{Unstructured: o.Written, Written: o.Written, Origin: o.Origin}
}

// Copy returns a copy of the object that may be changed.
func (o Object) Copy() Object {
	isRendered := o.IsRendered()
	o.Unstructured = o.DeepCopy()
	if !isRendered {
		o.Written = o.Unstructured
	}
	return o
}

// NamespaceOrDefault returns the namespace that an object of a namespaced kind will be in.
func (o Object) NamespaceOrDefault() string {
	return cmp.Or(o.GetNamespace(), metav1.NamespaceDefault)
}

// IDInNamespace returns the ID of the object with the namespace that it will be in, if it has
// one at all: an object that names the default namespace is the same object.
func (o Object) IDInNamespace() ID {
	id := o.ID()
	id.Namespace = o.NamespaceOrDefault()
	return id
}

// As returns an object as a Go type: the zero value of the type where there is no object, or it
// cannot be read.
func As[T any](o *unstructured.Unstructured) (typed T) {
	if o == nil || runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &typed) != nil {
		return *new(T)
	}
	return typed
}

// ID tells an object from all others of a cluster.
type ID struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// ID returns the ID of the object as it is written: without a namespace where it
// names none.
func (o Object) ID() ID {
	return ID{o.GroupVersionKind().Group, o.GetKind(), o.GetNamespace(), o.GetName()}
}

// String returns how people name the object, "" if there is none.
func (o Object) String() string {
	if o.Unstructured == nil {
		return ""
	}
	return o.ID().String()
}

// String returns how people name the object: "Kind namespace/name".
func (id ID) String() string {
	if id.Namespace == "" {
		return id.Kind + " " + id.Name
	}
	return id.Kind + " " + id.Namespace + "/" + id.Name
}

// Group returns the group of an apiVersion; empty for the core group.
func Group(apiVersion string) string {
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return group
}
