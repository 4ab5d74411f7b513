// Package kind is what a kind is that people write: a Go type, a CustomResourceDefinition, and
// pure functions by which it becomes the Kubernetes objects that run it, and those its status.
// Begin with Definition and Define; docs/kinds.md has all of it, from an empty folder. Package
// registry, which works with kinds, is for the programs of Gatehouse.
package kind

import (
	"strings"
	"time"

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

// Definition says what a kind is. T is its Go type, as kubebuilder has them.
type Definition[T any] struct {
	// GVK is the version that is rendered.
	GVK schema.GroupVersionKind

	// AddToScheme adds the types of the kind and its list to a scheme.
	AddToScheme func(*runtime.Scheme) error

	// CRD is its CustomResourceDefinition, in YAML, as controller-gen writes it.
	CRD []byte

	// Fields are its fields that have a meaning for kustomize, in YAML, as a file of
	// `configurations:` has them: those that `images:` and `replicas:` set, and those that
	// hold names of other objects. Nil for none.
	Fields []byte

	// Children are the kinds of all objects that Expand returns, and those of the objects
	// which these make and Status looks at.
	Children []Child

	// Expand returns what a valid object, with its defaults, is rendered to. It depends on
	// nothing else, changes nothing and returns the same each time. Where an object says no
	// name or namespace, they are those of what it is rendered from, and so are labels and
	// annotations.
	Expand func(*T) ([]Object, error)

	// Convert, of a version that people still write, returns the object in the version that
	// is rendered in its place. The metadata stays. Such a version has neither Expand nor
	// Children nor Status, and no cluster ever has an object of it.
	Convert func(*T) (Object, error)

	// Status decides what the status says, from more than Snapshot.Status or otherwise. Nil
	// for that, and then the status of T embeds Status.
	Status func(Snapshot[T]) Decision

	// Review returns what a change of an object in git does to a cluster, for the comment on
	// a pull request. It depends on nothing else. Nil for a comment that says which children
	// are added, changed and removed. With Review the comment says nothing else about them,
	// except which changes the API server refuses, lose data or grant rights.
	Review func(Change[T]) []Effect

	// ReviewCRD returns what a change of its CustomResourceDefinition does, where an
	// environment may have defaults of its own. Nil for nothing.
	ReviewCRD func(before, after *unstructured.Unstructured) []Effect

	// Digest is the digest of what children are rendered from, as a status is decided by it;
	// nil for one of each child. It is written like that of an image: sha256:<64
	// hexadecimal digits>.
	Digest func(*T) string

	// Gate is the scheduling gate of its Pods that its controller opens; empty for none. It
	// has to be one that the admission policies of the cluster let go.
	Gate string

	// TimeField is the path of a field that holds a time in RFC 3339, such as spec.schedule; empty
	// for none. The field is text, also where YAML would read something else. The page about an
	// environment draws these times in a timeline.
	TimeField string

	// KeepDefaults are paths of fields whose default is written into what is committed, as
	// an environment may change it and the API server fills it in only once.
	KeepDefaults []string

	// Page returns what the page about an environment says of the objects of the kind. Nil for
	// the columns of `kubectl get` that show the spec, and links to what is rendered.
	Page func(View[T]) Page

	// Warnings returns warnings about the objects of the kind in an environment; nil for none.
	Warnings func(View[T]) []Warning

	// HealthyPhases are values of status.phase with which an object is healthy to Flux, Argo CD
	// and `render apply`, whatever its conditions say. With any other it is healthy when it is
	// Ready.
	HealthyPhases []string

	// InitPatches are JSON patches of the CustomResourceDefinition, in YAML, by the names of
	// their files. `render init` writes them to the environment that it makes.
	InitPatches map[string]string
}

// Child is a kind of objects that are rendered from another, or made by those.
type Child struct {
	GVK schema.GroupVersionKind

	// Resource is what rights call such objects, like networkpolicies; empty for the plural
	// that English gives its kind.
	Resource string

	// Immutable says that a cluster lets nobody change such an object, like a Pod or a Job.
	// Its name ends in a hash of all that it is: another one is another object.
	Immutable bool

	// Unobserved says that the status does not depend on such objects: the controller
	// needs no right to read them.
	Unobserved bool
}

// Kind is a kind that people write, whatever its Go type. Define makes one.
type Kind struct {
	// These are as in its Definition.
	GVK          schema.GroupVersionKind
	AddToScheme  func(*runtime.Scheme) error
	CRD          []byte
	Fields       []byte
	Children     []Child
	Gate         string
	TimeField    string
	KeepDefaults []string

	// Label is on everything that is rendered from an object of the kind; its value is the
	// name of that object.
	Label string

	// New returns an empty object of its Go type.
	New func() Object

	// These are its functions, of objects of its Go type; nil where it has none.
	Expand  func(Object) ([]Object, error)
	Convert func(Object) (Object, error)
	Digest  func(Object) string

	// Review and ReviewCRD are as in its Definition. Before and after are objects of its Go
	// type; one of them may be nil.
	Review    func(before, after Object, children []ChildChange, now time.Time) []Effect
	ReviewCRD func(before, after *unstructured.Unstructured) []Effect

	// Decide decides what a status says, of an object of its Go type; nil where that is
	// Observation.Status.
	Decide func(Object, Observation) Decision

	// These are as in its Definition.
	Page          func([]Rendered[Object], Environment) Page
	Warnings      func([]Rendered[Object], Environment) []Warning
	HealthyPhases []string
	InitPatches   map[string]string
}

// Define returns the kind of a Definition.
func Define[T any, P interface {
	*T
	Object
}](d Definition[T]) Kind {
	typed := func(o Object) *T { return (*T)(o.(P)) }
	k := Kind{
		GVK: d.GVK, AddToScheme: d.AddToScheme, CRD: d.CRD, Fields: d.Fields, Children: d.Children,
		Gate: d.Gate, TimeField: d.TimeField, KeepDefaults: d.KeepDefaults,
		ReviewCRD: d.ReviewCRD, HealthyPhases: d.HealthyPhases, InitPatches: d.InitPatches,
		Label: d.GVK.Group + "/" + strings.ToLower(d.GVK.Kind),
		New:   func() Object { return P(new(T)) },
	}
	if d.Expand != nil {
		k.Expand = func(o Object) ([]Object, error) { return d.Expand(typed(o)) }
	}
	if d.Convert != nil {
		k.Convert = func(o Object) (Object, error) { return d.Convert(typed(o)) }
	}
	if d.Digest != nil {
		k.Digest = func(o Object) string { return d.Digest(typed(o)) }
	}
	if d.Review != nil {
		k.Review = func(before, after Object, children []ChildChange, now time.Time) []Effect {
			was, _ := before.(P) // nil stays nil
			is, _ := after.(P)
			return d.Review(Change[T]{(*T)(was), (*T)(is), children, now})
		}
	}
	if d.Status != nil {
		k.Decide = func(o Object, seen Observation) Decision { return d.Status(Snapshot[T]{typed(o), seen}) }
	}
	view := func(objects []Rendered[Object], e Environment) View[T] {
		v := View[T]{Environment: e}
		for _, o := range objects {
			v.Objects = append(v.Objects, Rendered[*T]{typed(o.Object), o.Children})
		}
		return v
	}
	if d.Page != nil {
		k.Page = func(objects []Rendered[Object], e Environment) Page { return d.Page(view(objects, e)) }
	}
	if d.Warnings != nil {
		k.Warnings = func(objects []Rendered[Object], e Environment) []Warning { return d.Warnings(view(objects, e)) }
	}
	return k
}

// Child returns what the kind says of objects of a group and kind; nil where it says nothing.
func (k *Kind) Child(gk schema.GroupKind) *Child {
	for i := range k.Children {
		if k.Children[i].GVK.GroupKind() == gk {
			return &k.Children[i]
		}
	}
	return nil
}

// Observes returns what the kind says of objects of a group and kind that its status depends on;
// nil where it does not.
func (k *Kind) Observes(gk schema.GroupKind) *Child {
	if child := k.Child(gk); child != nil && !child.Unobserved {
		return child
	}
	return nil
}

// Plural returns the plural of the kind, with which the name of its CustomResourceDefinition begins.
func (k *Kind) Plural() string {
	var crd metav1.PartialObjectMetadata
	_ = yaml.Unmarshal(k.CRD, &crd) // registry.New says what is wrong with it
	plural, _, _ := strings.Cut(crd.Name, ".")
	return plural
}

// IsConverted reports whether the kind is a version that another is rendered in place of.
func (k *Kind) IsConverted() bool { return k.Convert != nil }
