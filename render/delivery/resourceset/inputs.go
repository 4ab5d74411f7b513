package resourceset

import (
	"cmp"
	"errors"
	"fmt"
	"hash/adler32"
	"slices"
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
)

// maxPermutations bounds the inputs (internal/inputs/permuter.go).
const maxPermutations = 10000

// provider is an object with inputs.
type provider struct {
	name   string
	inputs []map[string]any
}

// combine returns the inputs of all providers, the ResourceSet first (Combine in internal/inputs/combine.go).
func (e *expansion) combine(id string) ([]map[string]any, error) {
	found, err := e.providers()
	if err != nil {
		return nil, err
	}
	providers := []provider{{e.set.GetName(), withProvider(e.set, inputsOf(e.set, "inputs"))}}
	for _, o := range found {
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "type")
		switch {
		case isDisabled(o.GetAnnotations()):
			e.unknown = append(e.unknown, fmt.Sprintf("inputs: %s is suspended", o))
		case kind != "Static":
			e.unknown = append(e.unknown, fmt.Sprintf("inputs: %s asks %s", o, cmp.Or(kind, "nobody")))
		default:
			values := copyOf(decoding.At(o.Object, []string{"spec", "defaultValues"}))
			values["id"] = id
			providers = append(providers, provider{o.GetName(), withProvider(o, []map[string]any{values})})
		}
	}
	if e.InputStrategy.Name != "Permute" {
		var all []map[string]any
		for _, p := range providers {
			all = append(all, p.inputs...)
		}
		return all, nil
	}
	if len(e.unknown) > 0 { // each object has a part of them
		return nil, nil
	}
	return permute(providers, e.InputStrategy.IncludeEmptyProviders)
}

// providers returns the objects that have inputs of the ResourceSet, in order (getInputs in
// internal/controller/resourceset_controller.go).
func (e *expansion) providers() ([]manifest.Object, error) {
	var found []manifest.Object
	all := e.world.Providers()
	for i, from := range e.InputsFrom {
		selects := func(o manifest.Object) bool { return o.GetName() == from.Name }
		if from.Name == "" {
			selector, err := metav1.LabelSelectorAsSelector(from.Selector)
			if err != nil {
				return nil, field.Invalid(field.NewPath("spec", "inputsFrom").Index(i).Child("selector"),
					field.OmitValueType{}, err.Error())
			}
			selects = func(o manifest.Object) bool { return selector.Matches(labels.Set(o.GetLabels())) }
		}
		isThere := false
		for _, o := range all {
			if o.NamespaceOrDefault() == e.set.NamespaceOrDefault() && selects(o) {
				isThere = true
				found = append(found, o)
			}
		}
		if !isThere && from.Name != "" {
			e.unknown = append(e.unknown, fmt.Sprintf("inputs: ResourceSetInputProvider %s is not here", from.Name))
		}
	}
	slices.SortFunc(found, func(a, b manifest.Object) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return slices.CompactFunc(found, func(a, b manifest.Object) bool { return a.GetName() == b.GetName() }), nil
}

// inputsOf returns a list of inputs in the spec of an object.
func inputsOf(o manifest.Object, name string) (all []map[string]any) {
	list, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", name)
	items, _ := list.([]any)
	for _, item := range items {
		all = append(all, copyOf(item))
	}
	return all
}

// copyOf returns a copy of a mapping, which is empty if the value is no mapping: templates may change it.
func copyOf(value any) map[string]any {
	content, isMapping := value.(map[string]any)
	if !isMapping {
		return map[string]any{}
	}
	return runtime.DeepCopyJSON(content)
}

// withProvider adds to inputs the object that has them (getFromProvider in internal/inputs/provider.go).
func withProvider(o manifest.Object, all []map[string]any) []map[string]any {
	for _, inputs := range all {
		inputs["provider"] = map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(),
			"name": o.GetName(), "namespace": o.GetNamespace()}
	}
	return all
}

// permute returns each combination of the inputs of the providers, by the names of these (internal/inputs/permuter.go).
func permute(providers []provider, withEmpty bool) ([]map[string]any, error) {
	type part struct {
		inputs map[string]any
		id     []string
	}
	parts := []part{{}}
	if !withEmpty {
		providers = slices.DeleteFunc(providers, func(p provider) bool { return len(p.inputs) == 0 })
	}
	for _, p := range providers {
		name := keyOf(p.name)
		if len(parts)*len(p.inputs) > maxPermutations {
			return nil, field.Invalid(field.NewPath("spec", "inputStrategy"), "Permute",
				fmt.Sprintf("makes over %d inputs", maxPermutations))
		}
		if name == "" {
			return nil, errors.New("inputs: no letter in the name " + p.name)
		}
		var next []part
		for _, before := range parts {
			for i, inputs := range p.inputs {
				with := map[string]any{}
				for key, value := range before.inputs {
					with[key] = value
				}
				with[name] = inputs
				next = append(next, part{with, append(slices.Clone(before.id), fmt.Sprintf("%s=%d", name, i))})
			}
		}
		parts = next
	}
	var all []map[string]any
	for _, p := range parts {
		if len(p.id) > 0 {
			p.inputs["id"] = fmt.Sprint(adler32.Checksum([]byte(strings.Join(p.id, "/"))))
			all = append(all, p.inputs)
		}
	}
	return all, nil
}

// keyOf returns a name as a key in templates (internal/inputs/keys.go).
func keyOf(name string) string {
	key := strings.Map(func(r rune) rune {
		r = unicode.ToLower(r)
		switch {
		case unicode.IsSpace(r) || unicode.IsPunct(r):
			return '_'
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			return r
		}
		return -1
	}, name)
	return strings.Join(strings.FieldsFunc(key, func(r rune) bool { return r == '_' }), "_")
}
