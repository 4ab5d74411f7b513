// Package kind defines kinds of source objects: a Go type, a CustomResourceDefinition, and pure
// functions that expand an object to its rendered objects and decide its status. Begin with
// Definition and Define. docs/kinds.md is a tutorial, and package kindtest helps to test a kind.
// Package registry is for the programs of Gatehouse.
//
// The functions of a kind see only their argument. They read no other objects of a cluster: a review
// shows exactly the objects that a sync applies. They read no Secrets: rendered objects are in git.
// They read no clock: rendering twice gives the same bytes. If a function panics, or runs for more
// than ten seconds, that is an error of its object. A panic in a goroutine that the function started
// ends the program.
package kind

import (
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// Object is a typed object of Kubernetes, or an *unstructured.Unstructured.
type Object interface {
	metav1.Object
	runtime.Object
}

// Definition defines a kind. T is its Go type, in the style of kubebuilder, and S the type of the
// field Status of T.
type Definition[T, S any] struct {
	// GVK is the version that is rendered.
	GVK schema.GroupVersionKind

	// AddToScheme adds the types of the kind and of its list to a scheme.
	AddToScheme func(*runtime.Scheme) error

	// CRD is the CustomResourceDefinition in YAML, as controller-gen writes it.
	CRD []byte

	// Fields are the fields that kustomize transforms.
	Fields Fields

	// Children are the kinds of all objects that Expand returns. Objects that a cluster makes
	// from these, such as the Pods of a Deployment, are children too if Status looks at them.
	Children []Child

	// Expand returns the children of a valid, defaulted object. It does not change its argument,
	// and returns the same children for the same argument. Children inherit the labels and
	// annotations of the object and, if they have none, its name and namespace. If the error is
	// a *field.Error, or the aggregate of a field.ErrorList, render reports each error at the
	// line of its field.
	Expand func(*T) ([]Object, error)

	// Convert is for an older version of a kind. It returns the object in the rendered version,
	// without metadata, or an error as Expand does. The metadata stays. An older version has
	// neither Expand nor Children nor Status, and is never in a cluster.
	Convert func(*T) (Object, error)

	// Status decides the status. If nil, the status is Snapshot.Status, and S embeds Status.
	Status func(Snapshot[T]) Decision[S]

	// Review returns the effects of a change in git on a cluster, for the comment on a pull
	// request. If nil, the comment lists the added, changed and removed children. Otherwise
	// these effects take the place of that list. The comment always adds the changes of children
	// that the API server refuses, lose data, grant rights or weaken the security of Pods.
	Review func(Change[T]) []Effect

	// ReviewCRD returns the effects of a change of the CustomResourceDefinition, such as another
	// default. Optional.
	ReviewCRD func(Change[unstructured.Unstructured]) []Effect

	// Digest returns the digest of an object that its children carry, and that the controller
	// compares with the digest of the live object. It has the form sha256:<64 hexadecimal
	// digits>, and must stay the same in every version of the kind's code. If nil, each child
	// carries a digest of itself, and the controller compares it with the result of Expand.
	Digest func(*T) string

	// Gate is the scheduling gate that the controller of the kind removes from Pods; empty for
	// none. The admission policies of the cluster must allow its removal.
	Gate string

	// TimeField is the path of a text field with a time that ParseTime reads, such as
	// spec.schedule; empty for none.
	TimeField string

	// KeepDefaults are the paths of fields whose defaults render writes into the committed
	// object. An environment may change such a default, but the API server would set it only
	// when the object is created.
	KeepDefaults []string

	// Warnings returns warnings about the objects of the kind in an environment. Optional.
	Warnings func(View[T]) []Warning

	// HealthyPhases are the values of status.phase that are healthy for Flux, Argo CD and
	// `render apply`, regardless of conditions. In any other phase, an object is healthy if it is
	// Ready.
	HealthyPhases []string

	// InitPatches are JSON patches of the CustomResourceDefinition, in YAML, by file name.
	// `render init` writes them to a new environment.
	InitPatches map[string]string
}

// Child is a kind of rendered objects, or of objects that a cluster makes from these.
type Child struct {
	GVK schema.GroupVersionKind

	// Resource is the plural in the API, like networkpolicies. If empty, it is the regular
	// English plural of the kind.
	Resource string

	// Immutable reports whether the API server refuses changes of such an object. Its name then
	// ends in a hash of its content: a change makes a new object. Pods and Jobs that Expand
	// returns must be immutable.
	Immutable bool

	// Unobserved reports whether the status does not depend on such objects. The controller then
	// needs no right to read them.
	Unobserved bool
}

// Kind is a kind of source objects, without its Go type. Define makes one, and nothing changes it
// afterwards. Its methods return the fields of its Definition, which callers must not change, and its
// functions take objects of the Go type.
type Kind struct {
	*definition
}

// IsDefined reports whether Define made the kind.
func (k *Kind) IsDefined() bool { return k.definition != nil }

// Label returns the label of all rendered objects of the kind. Its value is the name of the source
// object.
func (k *Kind) Label() string { return k.GVK().Group + "/" + strings.ToLower(k.GVK().Kind) }

// Observes returns the child kind of a group and kind, or nil if the status does not depend on it.
func (k *Kind) Observes(gk schema.GroupKind) *Child {
	if child := k.Child(gk); child != nil && !child.Unobserved {
		return child
	}
	return nil
}

// Plural returns the plural of the kind, such as memcacheds.
func (k *Kind) Plural() string {
	crd, _, err := k.ReadCRD()
	if err != nil {
		return "" // registry.New reports it
	}
	return crd.Spec.Names.Plural
}

// ReadCRD returns the CustomResourceDefinition and the version of the kind in it, or nil if it lacks
// that version.
func (k *Kind) ReadCRD() (*apiextensionsv1.CustomResourceDefinition,
	*apiextensionsv1.CustomResourceDefinitionVersion, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(k.CRD(), crd); err != nil {
		return nil, nil, fmt.Errorf("embed the file that controller-gen writes: %w", err)
	}
	if want := apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"); crd.GroupVersionKind() != want {
		return nil, nil, fmt.Errorf("it is %q, not %s: embed the file that controller-gen writes",
			crd.GroupVersionKind(), want)
	}
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Name == k.GVK().Version {
			return crd, &crd.Spec.Versions[i], nil
		}
	}
	return crd, nil, nil
}
