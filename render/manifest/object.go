// Package manifest holds the objects of an environment, their YAML, and their problems.
package manifest

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is one object of an environment as one stage leaves it, with links to its earlier stages.
type Object struct {
	*unstructured.Unstructured

	// Written is the source object as kustomize built it: the object itself, or the object
	// that it was rendered from. It is nil if overrides added the object.
	Written *unstructured.Unstructured

	// Origin is the source file, relative to the root; empty if unknown.
	Origin string

	// File is the object's file in rendered/, relative to the root, with slashes; empty until
	// the object is laid out.
	File string

	// Generator is the name of an object without the hash that kustomize added, if the content has
	// changed since; otherwise empty.
	Generator string

	// Rendered is an overridden object before the overrides; nil if these leave the object alone, add or
	// rename it.
	Rendered *Object

	// InGit is an applied object as it is in git, if Flux substitutes its variables or a policy changes it.
	InGit *Object

	// ChangedBy names the policies that change an applied object.
	ChangedBy string

	// Delivery installs the object; nil for an object with a file in rendered/.
	Delivery Delivery
}

// Delivery is an object whose tool makes other objects from files, such as a HelmRelease.
type Delivery interface {
	// Blame turns a problem of an installed object into a problem of the delivery.
	Blame(p Problem) Problem
	// Object returns the delivery itself.
	Object() Object
}

// Committed returns the object as it is in git.
func (o Object) Committed() Object {
	for o.InGit != nil {
		o = *o.InGit
	}
	return o
}

// Own returns the object as it is in git, or as a tool makes it by another object.
func (o Object) Own() Object {
	for o.InGit != nil && o.InGit.Delivery == o.Delivery {
		o = *o.InGit
	}
	return o
}

// IsRendered reports whether the object was rendered from another object.
func (o Object) IsRendered() bool {
	return o.Written != nil && o.Written != o.Unstructured
}

// Source returns the source object, which may be o itself.
func (o Object) Source() Object {
	return Object{Unstructured: o.Written, Written: o.Written, Origin: o.Origin}
}

// Copy returns a deep copy of the object. A rendered object keeps its source object.
func (o Object) Copy() Object {
	isSource := o.Written == o.Unstructured
	o.Unstructured = o.DeepCopy()
	if isSource {
		o.Written = o.Unstructured
	}
	return o
}

// NamespaceOrDefault returns the object's namespace in a cluster, if its kind is namespaced.
func (o Object) NamespaceOrDefault() string {
	return cmp.Or(o.GetNamespace(), metav1.NamespaceDefault)
}

// IDInNamespace returns the ID with NamespaceOrDefault, so that an object without a namespace and
// the same object in the default namespace are equal.
func (o Object) IDInNamespace() ID {
	id := o.ID()
	id.Namespace = o.NamespaceOrDefault()
	return id
}

// As converts an object to a Go type. Without an object, or if it does not fit the type, As returns
// the zero value.
func As[T any](o *unstructured.Unstructured) (typed T) {
	if o == nil || runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &typed) != nil {
		return *new(T)
	}
	return typed
}

// ID identifies an object in a cluster.
type ID struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Untyped returns objects without their links.
func Untyped(objects []Object) []*unstructured.Unstructured {
	all := make([]*unstructured.Unstructured, len(objects))
	for i, o := range objects {
		all[i] = o.Unstructured
	}
	return all
}

// ID returns the object's ID, without a namespace if the object has no metadata.namespace.
func (o Object) ID() ID {
	return ID{o.GroupVersionKind().Group, o.GetKind(), o.GetNamespace(), o.GetName()}
}

// String returns "Kind namespace/name", or "" without an object.
func (o Object) String() string {
	if o.Unstructured == nil {
		return ""
	}
	id := o.ID()
	id.Kind = cmp.Or(id.Kind, "object") // of a chart
	return id.String()
}

// String returns "Kind namespace/name".
func (id ID) String() string {
	if id.Namespace == "" {
		return id.Kind + " " + id.Name
	}
	return id.Kind + " " + id.Namespace + "/" + id.Name
}

// WithGroup returns "Kind.group namespace/name".
func (id ID) WithGroup() string {
	if id.Group != "" {
		id.Kind += "." + id.Group
	}
	return id.String()
}

// IsListKind reports whether kustomize and kubectl treat an object of this kind as a list of objects,
// if it has items: a List, or a kind such as ConfigMapList.
func IsListKind(kind string) bool { return strings.HasSuffix(kind, "List") }

// Group returns the group of an apiVersion; empty for the core group.
func Group(apiVersion string) string {
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return group
}
