// Package resourceset makes the objects of a ResourceSet as flux-operator does (internal/builder and internal/inputs of
// flux-operator), by the inputs in it and the static ones of its providers. A refusal of the controller is a
// field.Error, and any other error names an unknown.
package resourceset

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/template"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/templates"
)

// group is the group of flux-operator, and the prefix of its annotations.
const group = "fluxcd.controlplane.io"

// Is reports whether an object is a ResourceSet.
func Is(o manifest.Object) bool { return isOf(o, "ResourceSet") }

// IsProvider reports whether an object has inputs of ResourceSets.
func IsProvider(o manifest.Object) bool { return isOf(o, "ResourceSetInputProvider") }

func isOf(o manifest.Object, kind string) bool {
	return o.GetKind() == kind && manifest.Group(o.GetAPIVersion()) == group
}

// HasProviders reports whether a ResourceSet has inputs of other objects.
func HasProviders(o manifest.Object) bool {
	list, _, _ := unstructured.NestedSlice(o.Object, "spec", "inputsFrom")
	return len(list) > 0
}

// isDisabled reports whether flux-operator leaves an object alone.
func isDisabled(annotations map[string]string) bool {
	return strings.ToLower(annotations[group+"/reconcile"]) == "disabled"
}

// resourceSet has the fields of a ResourceSet that make its objects.
type resourceSet struct {
	CommonMetadata delivery.Metadata
	InputStrategy  struct {
		Name                  string
		IncludeEmptyProviders bool
	}
	InputsFrom []struct {
		Name     string
		Selector *metav1.LabelSelector
	}
	ResourcesTemplate string
	Steps             []struct{ Name, ResourcesTemplate string }
}

// World has the objects beside a ResourceSet.
type World interface {
	// Find returns the object of an ID, as it is applied.
	Find(id manifest.ID) (o manifest.Object, isThere bool)
	// Providers returns the objects with inputs.
	Providers() []manifest.Object
}

// Alone is the World of a ResourceSet whose other objects are not known.
type Alone struct{}

// Find implements World.
func (Alone) Find(manifest.ID) (o manifest.Object, isThere bool) { return o, false }

// Providers implements World.
func (Alone) Providers() []manifest.Object { return nil }

// Made are the objects of a ResourceSet, and the reasons why there may be others.
type Made struct {
	Objects []Object
	Unknown []string
}

// Object is an object of a ResourceSet, and the field of its template.
type Object struct {
	*unstructured.Unstructured
	Field string
}

// maxObjects bounds the objects of a ResourceSet.
const maxObjects = 5000

// Expand returns the objects of a ResourceSet.
func Expand(set manifest.Object, world World) (made Made, err error) {
	if isDisabled(set.GetAnnotations()) {
		made.Unknown = []string{"it is suspended: flux-operator leaves its objects as they are"}
		return made, nil
	}
	e := expansion{set: set, world: world}
	if err := manifest.Decode(set.Object["spec"], &e.resourceSet); err != nil {
		return made, err
	}
	e.maker = templates.NewHermeticMaker(template.New("resourceset").Delims("<<", ">>").Option("missingkey=error"),
		e.functions())
	first, err := e.make("0")
	if err != nil {
		return made, err
	}
	second, err := e.make("1")
	if err == nil && !reflect.DeepEqual(first, second) {
		return made, errors.New("inputs: id of a ResourceSetInputProvider is made of its UID")
	}
	first, err = e.finish(first)
	return Made{Objects: first, Unknown: e.unknown}, err
}

// expansion makes the objects of a ResourceSet.
type expansion struct {
	resourceSet
	set     manifest.Object
	world   World
	maker   *templates.Maker
	inputs  map[string]any // of the template that is made
	unknown []string
}

// make returns the objects by all inputs, with an ID for providers: only the cluster has theirs
// (BuildResourceSetFromSpec in internal/builder/resourceset.go).
func (e *expansion) make(id string) ([]Object, error) {
	e.unknown = nil
	inputs, err := e.combine(id)
	if err != nil || len(inputs) == 0 && len(e.InputsFrom) > 0 {
		return nil, err
	}
	at := field.NewPath("spec")
	if len(e.Steps) == 0 {
		return e.makeStep(at, e.ResourcesTemplate, inputs)
	}
	var all []Object
	stepOf := map[manifest.ID]int{}
	for i, step := range e.Steps {
		made, err := e.makeStep(at.Child("steps").Index(i), step.ResourcesTemplate, inputs)
		if err != nil {
			return nil, err
		}
		for _, o := range made {
			if other, isThere := stepOf[o.id()]; isThere && other != i {
				return nil, field.Invalid(at.Child("steps").Index(i), field.OmitValueType{}, fmt.Sprintf(
					"step %q has %s as well: flux-operator refuses the ResourceSet; remove one",
					e.Steps[other].Name, o.id()))
			}
			stepOf[o.id()] = i
		}
		all = append(all, made...)
	}
	return all, nil
}

// makeStep returns the objects of the templates below a field. The first object of an ID counts, unless there are no
// inputs (BuildResourceSet in internal/builder/resourceset.go).
func (e *expansion) makeStep(at *field.Path, text string, inputs []map[string]any) (all []Object, err error) {
	isThere := map[manifest.ID]bool{}
	add := func(made []*unstructured.Unstructured, path *field.Path, isRepeatable bool) error {
		for _, u := range made {
			o := Object{u, path.String()}
			if isRepeatable || !isThere[o.id()] {
				all = append(all, o)
			}
			isThere[o.id()] = true
		}
		if len(all) > maxObjects {
			return fmt.Errorf("over %d objects", maxObjects)
		}
		return nil
	}
	hasInputs := len(inputs) > 0
	if !hasInputs {
		inputs = []map[string]any{nil}
	}
	resources, _ := decoding.At(e.set.Object, append(manifest.SplitField(at.String()), "resources")).([]any)
	for i, resource := range resources {
		path := at.Child("resources").Index(i)
		content, err := yaml.Marshal(resource)
		if err != nil {
			return nil, err
		}
		for _, input := range inputs {
			made, err := e.fill(path, string(content), input, readObject)
			if hasInputs {
				made = slices.DeleteFunc(made, isExcluded)
			}
			if err = cmp.Or(err, add(made, path, !hasInputs)); err != nil {
				return nil, err
			}
		}
	}
	for _, input := range inputs {
		path := at.Child("resourcesTemplate")
		made, err := e.fill(path, text, input, readObjects)
		if err = cmp.Or(err, add(slices.DeleteFunc(made, isExcluded), path, false)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func isExcluded(u *unstructured.Unstructured) bool {
	return u.GetAnnotations()[group+"/reconcile"] == "disabled"
}

func (o Object) id() manifest.ID { return manifest.Object{Unstructured: o.Unstructured}.ID() }

// fill returns the objects in a template with inputs. Without all inputs it may be right or wrong.
func (e *expansion) fill(at *field.Path, text string, inputs map[string]any,
	read func(*yamlutil.YAMLOrJSONDecoder) ([]*unstructured.Unstructured, error)) ([]*unstructured.Unstructured,
	error) {
	e.inputs = inputs
	made, err := e.maker.Make(text, nil)
	switch {
	case errors.Is(err, templates.ErrLarge), errors.Is(err, templates.ErrChanging), errors.Is(err, errSlug):
		return nil, fmt.Errorf("%s: %w", at, err)
	case err != nil:
		return nil, field.Invalid(at, field.OmitValueType{}, err.Error())
	}
	all, err := read(yamlutil.NewYAMLOrJSONDecoder(strings.NewReader(made), 2048))
	if err != nil {
		return nil, field.Invalid(at, field.OmitValueType{}, fmt.Sprintf("makes no objects: %v", err))
	}
	return all, nil
}

// readObject reads one object (ReadObject in ssa/utils of fluxcd/pkg).
func readObject(d *yamlutil.YAMLOrJSONDecoder) ([]*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	err := d.Decode(u)
	return []*unstructured.Unstructured{u}, err
}

// readObjects reads the objects of several documents (ReadObjects in ssa/utils of fluxcd/pkg).
func readObjects(d *yamlutil.YAMLOrJSONDecoder) (all []*unstructured.Unstructured, err error) {
	for {
		u := &unstructured.Unstructured{}
		switch err := d.Decode(u); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		case u.IsList():
			_ = u.EachListItem(func(item runtime.Object) error {
				all = append(all, item.(*unstructured.Unstructured))
				return nil
			})
		case u.GetName() != "" && u.GetKind() != "" && u.GetAPIVersion() != "" && !isConfiguration(u):
			all = append(all, u)
		}
	}
}

// isConfiguration reports whether an object is the configuration of a build.
func isConfiguration(u *unstructured.Unstructured) bool {
	return strings.EqualFold(u.GetKind(), "kustomization") &&
		strings.HasPrefix(u.GetAPIVersion(), "kustomize.config.k8s.io/")
}
