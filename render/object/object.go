// Package object has the objects of an environment and what is wrong with them.
package object

import (
	"strings"

	"go.yaml.in/yaml/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Object is one object of an environment.
type Object struct {
	*unstructured.Unstructured

	// Origin is the file that the object comes from, or that of the object that it
	// was rendered from: a path from the root of the repository, which is "/".
	Origin string
}

// ID tells an object from all others of a cluster.
type ID struct{ Group, Kind, Namespace, Name string }

// ID returns the ID of the object as it is written: without a namespace where it
// names none.
func (o Object) ID() ID {
	return ID{o.GroupVersionKind().Group, o.GetKind(), o.GetNamespace(), o.GetName()}
}

// String is how people name the object; empty where there is none.
func (o Object) String() string {
	if o.Unstructured == nil {
		return ""
	}
	return o.ID().String()
}

// String is how people name the object: "Kind namespace/name".
func (id ID) String() string {
	if id.Namespace == "" {
		return id.Kind + " " + id.Name
	}
	return id.Kind + " " + id.Namespace + "/" + id.Name
}

// YAML returns the object the way kustomize writes it: keys sorted, no comments.
func (o Object) YAML() ([]byte, error) {
	return yaml.Marshal(o.Object)
}

// Group returns the group of an apiVersion; empty for the core group.
func Group(apiVersion string) string {
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return group
}
