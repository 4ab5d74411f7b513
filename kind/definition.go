package kind

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// definition is a Definition without its type parameters. Its functions take objects of the Go type, and
// call the functions of the Definition. Except for New, each is nil if the Definition has no such function.
type definition struct {
	data       Definition[struct{}, struct{}] // without functions
	statusType reflect.Type

	AddToScheme func(*runtime.Scheme) error

	// New returns an empty object of the Go type.
	New func() Object

	// Expand calls Expand. Registry.Expand checks the result.
	Expand  func(Object) ([]Object, error)
	Convert func(Object) (Object, error)
	Digest  func(Object) string
	Status  func(Object, Observation) Decision[any]

	// Review calls Review. Before or after may be nil.
	Review    func(before, after Object, children []ChildChange, now time.Time) []Effect
	ReviewCRD func(Change[unstructured.Unstructured]) []Effect
	Warnings  func([]Rendered[Object], Environment) []Warning
}

// Define returns the kind of a Definition. It copies slices and maps.
func Define[T, S any, P interface {
	*T
	Object
}](d Definition[T, S]) Kind {
	object := func(o Object) *T { // nil for nil
		p, _ := o.(P)
		return p
	}
	view := func(objects []Rendered[Object], e Environment) View[T] {
		v := View[T]{Environment: e}
		for _, o := range objects {
			v.Objects = append(v.Objects, Rendered[*T]{object(o.Object), o.Children})
		}
		return v
	}
	erased := &definition{
		data: Definition[struct{}, struct{}]{
			GVK: d.GVK, CRD: slices.Clone(d.CRD), Fields: d.Fields.clone(), Children: slices.Clone(d.Children),
			Gate: d.Gate, TimeField: d.TimeField,
			KeepDefaults: slices.Clone(d.KeepDefaults), HealthyPhases: slices.Clone(d.HealthyPhases),
			InitPatches: maps.Clone(d.InitPatches),
		},
		statusType:  reflect.TypeFor[S](),
		AddToScheme: d.AddToScheme,
		New:         func() Object { return P(new(T)) },
		ReviewCRD:   d.ReviewCRD,
	}
	if d.Expand != nil {
		erased.Expand = func(o Object) ([]Object, error) { return d.Expand(object(o)) }
	}
	if d.Convert != nil {
		erased.Convert = func(o Object) (Object, error) { return d.Convert(object(o)) }
	}
	if d.Digest != nil {
		erased.Digest = func(o Object) string { return d.Digest(object(o)) }
	}
	if d.Status != nil {
		erased.Status = func(o Object, seen Observation) Decision[any] {
			decision := d.Status(Snapshot[T]{object(o), seen})
			return Decision[any]{decision.Status, decision.Wake}
		}
	}
	if d.Review != nil {
		erased.Review = func(before, after Object, children []ChildChange, now time.Time) []Effect {
			return d.Review(Change[T]{object(before), object(after), children, now})
		}
	}
	if d.Warnings != nil {
		erased.Warnings = func(objects []Rendered[Object], e Environment) []Warning {
			return d.Warnings(view(objects, e))
		}
	}
	return Kind{definition: erased}
}

func (d *definition) GVK() schema.GroupVersionKind   { return d.data.GVK }
func (d *definition) CRD() []byte                    { return d.data.CRD }
func (d *definition) Fields() Fields                 { return d.data.Fields }
func (d *definition) Children() []Child              { return d.data.Children }
func (d *definition) Gate() string                   { return d.data.Gate }
func (d *definition) TimeField() string              { return d.data.TimeField }
func (d *definition) KeepDefaults() []string         { return d.data.KeepDefaults }
func (d *definition) HealthyPhases() []string        { return d.data.HealthyPhases }
func (d *definition) InitPatches() map[string]string { return d.data.InitPatches }

// StatusType returns the type of the status, S of the Definition.
func (d *definition) StatusType() reflect.Type { return d.statusType }

// IsConverted reports whether the Definition has Convert.
func (d *definition) IsConverted() bool { return d.Convert != nil }

// Child returns the child kind of a group and kind, or nil.
func (d *definition) Child(gk schema.GroupKind) *Child {
	for i := range d.data.Children {
		if child := &d.data.Children[i]; child.GVK.GroupKind() == gk {
			return child
		}
	}
	return nil
}
