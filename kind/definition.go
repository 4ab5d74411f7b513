package kind

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// definition is a Definition without its type parameters. Its functions take objects of the Go type.
type definition interface {
	GVK() schema.GroupVersionKind
	AddToScheme(scheme *runtime.Scheme) error
	CRD() []byte
	Fields() Fields
	Children() []Child
	Gate() string
	TimeField() string
	KeepDefaults() []string
	HealthyPhases() []string
	InitPatches() map[string]string

	// New returns an empty object of the Go type.
	New() Object

	// StatusType returns the type of the status, S of the Definition.
	StatusType() reflect.Type

	// Child returns the child kind of a group and kind, or nil.
	Child(gk schema.GroupKind) *Child

	// IsConverted reports whether the Definition has Convert.
	IsConverted() bool
	HasExpand() bool
	HasDigest() bool
	HasStatus() bool
	HasReview() bool
	HasPage() bool
	HasWarnings() bool

	// Expand calls Expand. Registry.Expand checks the result.
	Expand(o Object) ([]Object, error)
	Convert(o Object) (Object, error)
	Digest(o Object) string
	Status(o Object, seen Observation) Decision[any]

	// Review calls Review. Before or after may be nil.
	Review(before, after Object, children []ChildChange, now time.Time) []Effect

	// ReviewCRD calls ReviewCRD. It returns nothing if the Definition has none.
	ReviewCRD(c Change[unstructured.Unstructured]) []Effect
	Page(objects []Rendered[Object], e Environment) Page
	Warnings(objects []Rendered[Object], e Environment) []Warning
}

// typed implements definition. Slices and maps are copied, so that callers cannot change them.
type typed[T, S any, P interface {
	*T
	Object
}] struct{ d Definition[T, S] }

func (t typed[T, S, P]) GVK() schema.GroupVersionKind   { return t.d.GVK }
func (t typed[T, S, P]) CRD() []byte                    { return slices.Clone(t.d.CRD) }
func (t typed[T, S, P]) Fields() Fields                 { return t.d.Fields.clone() }
func (t typed[T, S, P]) Children() []Child              { return slices.Clone(t.d.Children) }
func (t typed[T, S, P]) Gate() string                   { return t.d.Gate }
func (t typed[T, S, P]) TimeField() string              { return t.d.TimeField }
func (t typed[T, S, P]) KeepDefaults() []string         { return slices.Clone(t.d.KeepDefaults) }
func (t typed[T, S, P]) HealthyPhases() []string        { return slices.Clone(t.d.HealthyPhases) }
func (t typed[T, S, P]) InitPatches() map[string]string { return maps.Clone(t.d.InitPatches) }
func (t typed[T, S, P]) New() Object                    { return P(new(T)) }
func (t typed[T, S, P]) StatusType() reflect.Type       { return reflect.TypeFor[S]() }

func (t typed[T, S, P]) IsConverted() bool { return t.d.Convert != nil }
func (t typed[T, S, P]) HasExpand() bool   { return t.d.Expand != nil }
func (t typed[T, S, P]) HasDigest() bool   { return t.d.Digest != nil }
func (t typed[T, S, P]) HasStatus() bool   { return t.d.Status != nil }
func (t typed[T, S, P]) HasReview() bool   { return t.d.Review != nil }
func (t typed[T, S, P]) HasPage() bool     { return t.d.Page != nil }
func (t typed[T, S, P]) HasWarnings() bool { return t.d.Warnings != nil }

func (t typed[T, S, P]) Expand(o Object) ([]Object, error) { return t.d.Expand(t.object(o)) }
func (t typed[T, S, P]) Convert(o Object) (Object, error)  { return t.d.Convert(t.object(o)) }
func (t typed[T, S, P]) Digest(o Object) string            { return t.d.Digest(t.object(o)) }

func (t typed[T, S, P]) AddToScheme(scheme *runtime.Scheme) error {
	if t.d.AddToScheme == nil {
		return errors.New("it is nil: set it to AddToScheme of the package of the Go type")
	}
	return t.d.AddToScheme(scheme)
}

func (t typed[T, S, P]) Child(gk schema.GroupKind) *Child {
	for _, child := range t.d.Children {
		if child.GVK.GroupKind() == gk {
			return &child
		}
	}
	return nil
}

func (t typed[T, S, P]) Status(o Object, seen Observation) Decision[any] {
	decision := t.d.Status(Snapshot[T]{t.object(o), seen})
	return Decision[any]{decision.Status, decision.Wake}
}

func (t typed[T, S, P]) Review(before, after Object, children []ChildChange, now time.Time) []Effect {
	return t.d.Review(Change[T]{t.object(before), t.object(after), children, now})
}

func (t typed[T, S, P]) ReviewCRD(c Change[unstructured.Unstructured]) []Effect {
	if t.d.ReviewCRD == nil {
		return nil
	}
	return t.d.ReviewCRD(c)
}

func (t typed[T, S, P]) Page(objects []Rendered[Object], e Environment) Page {
	return t.d.Page(t.view(objects, e))
}

func (t typed[T, S, P]) Warnings(objects []Rendered[Object], e Environment) []Warning {
	return t.d.Warnings(t.view(objects, e))
}

// object returns an object as the Go type; nil for nil.
func (t typed[T, S, P]) object(o Object) *T {
	p, _ := o.(P)
	return p
}

func (t typed[T, S, P]) view(objects []Rendered[Object], e Environment) View[T] {
	v := View[T]{Environment: e}
	for _, o := range objects {
		v.Objects = append(v.Objects, Rendered[*T]{t.object(o.Object), o.Children})
	}
	return v
}
