// Package kind is what a kind is that people write: a Go type, a CustomResourceDefinition, and
// pure functions by which it becomes the Kubernetes objects that run it, and those its status.
// Begin with Definition and Define; docs/kinds.md has all of it, from an empty folder, and package
// kindtest is for the tests of a kind. Package registry, which works with kinds, is for the
// programs of Gatehouse.
//
// The functions of a kind see their argument and nothing else. They get no other objects of a
// cluster, as what is reviewed has to be what is synced; no values of Secrets, as those would be in
// git; and no clock, as rendering twice gives the same. A function that panics, or takes more than
// ten seconds, is an error of the object that it was called for. A goroutine that such a function
// starts is not covered: its panic ends the program.
package kind

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is a typed object of Kubernetes, or an *unstructured.Unstructured.
type Object interface {
	metav1.Object
	runtime.Object
}

// Definition says what a kind is. T is its Go type, as kubebuilder has them, and S the type of its
// field Status.
type Definition[T, S any] struct {
	// GVK is the version that is rendered.
	GVK schema.GroupVersionKind

	// AddToScheme adds the types of the kind and its list to a scheme.
	AddToScheme func(*runtime.Scheme) error

	// CRD is its CustomResourceDefinition, in YAML, as controller-gen writes it.
	CRD []byte

	// Fields are its fields that have a meaning for kustomize.
	Fields Fields

	// Children are the kinds of all objects that Expand returns, and those of the objects
	// which these make and Status looks at.
	Children []Child

	// Expand returns what a valid object, with its defaults, is rendered to. It depends on
	// nothing else, changes nothing and returns the same each time. Where an object says no
	// name or namespace, they are those of what it is rendered from, and so are labels and
	// annotations. An error that is a *field.Error, or a field.ErrorList as an aggregate, is
	// reported at the line of each field.
	Expand func(*T) ([]Object, error)

	// Convert, of a version that people still write, returns the object in the version that
	// is rendered in its place, or errors as Expand does. The metadata stays. Such a version has
	// neither Expand nor Children nor Status, and no cluster ever has an object of it.
	Convert func(*T) (Object, error)

	// Status decides what the status says, from more than Snapshot.Status or otherwise. Nil
	// for that, and then S embeds Status.
	Status func(Snapshot[T]) Decision[S]

	// Review returns what a change of an object in git does to a cluster, for the comment on
	// a pull request. It depends on nothing else. Nil for a comment that says which children
	// are added, changed and removed. With Review the comment says nothing else about them,
	// except which changes the API server refuses, lose data, grant rights or take protection from Pods.
	Review func(Change[T]) []Effect

	// ReviewCRD returns what a change of its CustomResourceDefinition does, where an
	// environment may have defaults of its own. Nil for nothing.
	ReviewCRD func(Change[unstructured.Unstructured]) []Effect

	// Digest is the digest of what children are rendered from, as a status is decided by it;
	// nil for one of each child. It is written like that of an image: sha256:<64
	// hexadecimal digits>. It stays the same in every version of the kind's code: with it, the
	// controller does not compare what Expand returns.
	Digest func(*T) string

	// Gate is the scheduling gate of its Pods that its controller opens; empty for none. It
	// has to be one that the admission policies of the cluster let go.
	Gate string

	// TimeField is the path of a field that holds a time in RFC 3339, such as spec.schedule; empty
	// for none. The field is text, also where YAML would read something else; ParseTime reads it,
	// with a time zone behind it. The page about an environment draws these times in a timeline.
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

	// Immutable says that a cluster lets nobody change such an object. Its name ends in a hash
	// of all that it is: another one is another object. Pods and Jobs that Expand returns are.
	Immutable bool

	// Unobserved says that the status does not depend on such objects: the controller
	// needs no right to read them.
	Unobserved bool
}

// Kind is a kind that people write, whatever its Go type. Define makes one, and nothing changes it
// afterwards. What its methods return is as in its Definition.
type Kind struct {
	gvk           schema.GroupVersionKind
	addToScheme   func(*runtime.Scheme) error
	crd           []byte
	fields        Fields
	children      []Child
	gate          string
	timeField     string
	keepDefaults  []string
	healthyPhases []string
	initPatches   map[string]string
	object        func() Object
	status        reflect.Type
	schema        func() (*apiextensionsv1.JSONSchemaProps, error)
	hooks
}

// hooks are the functions of a kind, of objects of its Go type; nil where it has none.
type hooks struct {
	expand    func(Object) ([]Object, error)
	convert   func(Object) (Object, error)
	digest    func(Object) string
	decide    func(Object, Observation) Decision[any]
	review    func(before, after Object, children []ChildChange, now time.Time) []Effect
	reviewCRD func(Change[unstructured.Unstructured]) []Effect
	page      func([]Rendered[Object], Environment) Page
	warnings  func([]Rendered[Object], Environment) []Warning
}

// Define returns the kind of a Definition.
func Define[T, S any, P interface {
	*T
	Object
}](d Definition[T, S]) Kind {
	k := Kind{
		gvk: d.GVK, addToScheme: d.AddToScheme, crd: slices.Clone(d.CRD), fields: d.Fields.clone(),
		children: slices.Clone(d.Children), gate: d.Gate, timeField: d.TimeField,
		keepDefaults: slices.Clone(d.KeepDefaults), healthyPhases: slices.Clone(d.HealthyPhases),
		initPatches: maps.Clone(d.InitPatches),
		object:      func() Object { return P(new(T)) },
		status:      reflect.TypeFor[S](),
		hooks:       hooksOf[T, S, P](d),
	}
	k.schema = sync.OnceValues(k.readSchema)
	return k
}

// hooksOf returns the functions of a Definition as functions of any Object.
func hooksOf[T, S any, P interface {
	*T
	Object
}](d Definition[T, S]) (h hooks) {
	typed := func(o Object) *T {
		p, _ := o.(P) // nil stays nil
		return p
	}
	view := func(objects []Rendered[Object], e Environment) View[T] {
		v := View[T]{Environment: e}
		for _, o := range objects {
			v.Objects = append(v.Objects, Rendered[*T]{typed(o.Object), o.Children})
		}
		return v
	}
	h.reviewCRD = d.ReviewCRD
	if d.Expand != nil {
		h.expand = func(o Object) ([]Object, error) { return d.Expand(typed(o)) }
	}
	if d.Convert != nil {
		h.convert = func(o Object) (Object, error) { return d.Convert(typed(o)) }
	}
	if d.Digest != nil {
		h.digest = func(o Object) string { return d.Digest(typed(o)) }
	}
	if d.Review != nil {
		h.review = func(before, after Object, children []ChildChange, now time.Time) []Effect {
			return d.Review(Change[T]{typed(before), typed(after), children, now})
		}
	}
	if d.Status != nil {
		h.decide = func(o Object, seen Observation) Decision[any] {
			decision := d.Status(Snapshot[T]{typed(o), seen})
			return Decision[any]{decision.Status, decision.Wake}
		}
	}
	if d.Page != nil {
		h.page = func(objects []Rendered[Object], e Environment) Page { return d.Page(view(objects, e)) }
	}
	if d.Warnings != nil {
		h.warnings = func(objects []Rendered[Object], e Environment) []Warning { return d.Warnings(view(objects, e)) }
	}
	return h
}

// IsDefined reports whether Define made the kind.
func (k *Kind) IsDefined() bool { return k.object != nil }

// GVK returns the group, version and kind.
func (k *Kind) GVK() schema.GroupVersionKind { return k.gvk }

// Label returns the label that is on everything that is rendered from an object of the kind; its
// value is the name of that object.
func (k *Kind) Label() string { return k.gvk.Group + "/" + strings.ToLower(k.gvk.Kind) }

// New returns an empty object of the Go type.
func (k *Kind) New() Object { return k.object() }

// StatusType returns the type of the status, S of the Definition.
func (k *Kind) StatusType() reflect.Type { return k.status }

// AddToScheme adds the types of the kind and its list to a scheme.
func (k *Kind) AddToScheme(scheme *runtime.Scheme) error {
	if k.addToScheme == nil {
		return errors.New("it is nil: set it to that of the package of its Go type")
	}
	return k.addToScheme(scheme)
}

// CRD returns the YAML of the CustomResourceDefinition.
func (k *Kind) CRD() []byte { return slices.Clone(k.crd) }

// Fields returns the fields that have a meaning for kustomize.
func (k *Kind) Fields() Fields { return k.fields.clone() }

// Children returns the kinds of what is rendered from the kind.
func (k *Kind) Children() []Child { return slices.Clone(k.children) }

// Gate returns the scheduling gate of Pods; empty for none.
func (k *Kind) Gate() string { return k.gate }

// TimeField returns the path of the field that holds a time; empty for none.
func (k *Kind) TimeField() string { return k.timeField }

// KeepDefaults returns the paths of the fields whose default is committed.
func (k *Kind) KeepDefaults() []string { return slices.Clone(k.keepDefaults) }

// HealthyPhases returns the values of status.phase with which an object is healthy.
func (k *Kind) HealthyPhases() []string { return slices.Clone(k.healthyPhases) }

// InitPatches returns the patches that render init writes, by the names of their files.
func (k *Kind) InitPatches() map[string]string { return maps.Clone(k.initPatches) }

// HasExpand reports whether the Definition has Expand.
func (k *Kind) HasExpand() bool { return k.expand != nil }

// HasDigest reports whether the Definition has Digest.
func (k *Kind) HasDigest() bool { return k.digest != nil }

// HasStatus reports whether the Definition has Status.
func (k *Kind) HasStatus() bool { return k.decide != nil }

// HasReview reports whether the Definition has Review.
func (k *Kind) HasReview() bool { return k.review != nil }

// HasPage reports whether the Definition has Page.
func (k *Kind) HasPage() bool { return k.page != nil }

// HasWarnings reports whether the Definition has Warnings.
func (k *Kind) HasWarnings() bool { return k.warnings != nil }

// Expand calls Expand with an object of the Go type. Registry.Expand checks what it returns.
func (k *Kind) Expand(o Object) ([]Object, error) { return k.expand(o) }

// Convert calls Convert with an object of the Go type.
func (k *Kind) Convert(o Object) (Object, error) { return k.convert(o) }

// Digest calls Digest with an object of the Go type.
func (k *Kind) Digest(o Object) string { return k.digest(o) }

// Status calls Status with an object of the Go type.
func (k *Kind) Status(o Object, seen Observation) Decision[any] { return k.decide(o, seen) }

// Review calls Review with objects of the Go type; one of them may be nil.
func (k *Kind) Review(before, after Object, children []ChildChange, now time.Time) []Effect {
	return k.review(before, after, children, now)
}

// ReviewCRD calls ReviewCRD; it returns nothing where the Definition has none.
func (k *Kind) ReviewCRD(c Change[unstructured.Unstructured]) []Effect {
	if k.reviewCRD == nil {
		return nil
	}
	return k.reviewCRD(c)
}

// Page calls Page with objects of the Go type.
func (k *Kind) Page(objects []Rendered[Object], e Environment) Page { return k.page(objects, e) }

// Warnings calls Warnings with objects of the Go type.
func (k *Kind) Warnings(objects []Rendered[Object], e Environment) []Warning {
	return k.warnings(objects, e)
}

// Child returns what the kind says of objects of a group and kind; nil where it says nothing.
func (k *Kind) Child(gk schema.GroupKind) *Child {
	for i := range k.children {
		if k.children[i].GVK.GroupKind() == gk {
			child := k.children[i]
			return &child
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
	crd, _, err := k.ReadCRD()
	if err != nil {
		return "" // registry.New says what is wrong with it
	}
	return crd.Spec.Names.Plural
}

// IsConverted reports whether the kind is a version that another is rendered in place of.
func (k *Kind) IsConverted() bool { return k.convert != nil }
