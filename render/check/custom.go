package check

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/check/apiserver"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/object"
)

// customKind checks the objects of one version of a CustomResourceDefinition with
// the API server's own code.
type customKind struct {
	definition *apiextensions.CustomResourceDefinition
	structural *schema.Structural
	strategy   rest.RESTCreateStrategy
	warnings   []string // what the API server says of each object of the version
}

// customKinds are the kinds that the CustomResourceDefinitions of an environment
// define, or are built in.
type customKinds map[apischema.GroupVersionKind]*customKind

// embedded is what brought returns, made once for each list of kinds.
var embedded sync.Map // of func() (customKinds, []object.Problem), by *registry.Kinds

// brought returns the kinds of the CustomResourceDefinitions that come with this program,
// and what the API server would say of those.
func brought(written *registry.Kinds) (customKinds, []object.Problem) {
	read, _ := embedded.LoadOrStore(written, sync.OnceValues(func() (customKinds, []object.Problem) { return readBrought(written) }))
	return read.(func() (customKinds, []object.Problem))()
}

func readBrought(written *registry.Kinds) (all customKinds, problems []object.Problem) {
	all = customKinds{}
	for i := range written.All {
		definition := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(written.All[i].CRD, &definition.Object); err != nil {
			panic(err) // registry.New has read it
		}
		kinds, wrong := customKinds{}.defined(object.Object{Unstructured: definition})
		maps.Copy(all, kinds)
		for _, p := range wrong {
			p.Message = fmt.Sprintf("in the CustomResourceDefinition that comes with this program for %s: %s", written.All[i].GVK.Kind, p.Message)
			problems = append(problems, p)
		}
	}
	return all, problems
}

// defined returns the kinds of a CustomResourceDefinition, and what the API server would
// say of it. Those that are known it does not make again.
func (known customKinds) defined(crd object.Object) (customKinds, []object.Problem) {
	served, ok := apiserver.Lookup(crd.GroupVersionKind())
	if !ok {
		return nil, checkBuiltin(crd)
	}
	decoded, problems := decode(crd, served)
	definition, ok := decoded.rest.(*apiextensions.CustomResourceDefinition)
	if !ok {
		return nil, problems
	}
	if known.include(definition) {
		return nil, append(problems, problemsOf(crd, checkMetadata(crd.Unstructured, false))...)
	}
	problems = append(problems, verdict(crd, served, decoded)...)
	if slices.ContainsFunc(problems, object.Problem.IsError) {
		return nil, problems
	}
	kinds, missing := known.of(crd, definition)
	return kinds, append(problems, missing...)
}

// of returns the kinds of a valid CustomResourceDefinition, and what those lack that are
// known.
func (known customKinds) of(crd object.Object, definition *apiextensions.CustomResourceDefinition) (customKinds, []object.Problem) {
	kinds := customKinds{}
	for _, version := range definition.Spec.Versions {
		if !version.Served {
			continue
		}
		kind, err := newCustomKind(definition, version)
		if err != nil {
			return nil, []object.Problem{invalid(crd, err.Error())}
		}
		gvk := kindOf(definition, version)
		if missing := kind.missingFields(known[gvk]); len(missing) > 0 {
			return nil, []object.Problem{invalid(crd, fmt.Sprintf("has no %s: copy the CustomResourceDefinition that comes with this version of render, and patch that", strings.Join(missing, ", ")))}
		}
		kinds[gvk] = kind
	}
	return kinds, nil
}

// include says whether the kinds of a definition are known as it defines them.
func (known customKinds) include(definition *apiextensions.CustomResourceDefinition) bool {
	for _, version := range definition.Spec.Versions {
		kind, ok := known[kindOf(definition, version)]
		if !ok || kind.definition.Name != definition.Name || !reflect.DeepEqual(kind.definition.Spec, definition.Spec) {
			return false
		}
	}
	return len(definition.Spec.Versions) > 0
}

func kindOf(definition *apiextensions.CustomResourceDefinition, version apiextensions.CustomResourceDefinitionVersion) apischema.GroupVersionKind {
	return apischema.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name, Kind: definition.Spec.Names.Kind}
}

// missingFields are the fields of the spec that a kind should have, because the one
// that comes with this program has them, and does not have.
func (k *customKind) missingFields(known *customKind) (missing []string) {
	if known == nil {
		return nil
	}
	has := k.structural.Properties["spec"].Properties
	for name := range known.structural.Properties["spec"].Properties {
		if _, ok := has[name]; !ok {
			missing = append(missing, "spec."+name)
		}
	}
	slices.Sort(missing)
	return missing
}

func newCustomKind(definition *apiextensions.CustomResourceDefinition, version apiextensions.CustomResourceDefinitionVersion) (*customKind, error) {
	properties, err := apiextensions.GetSchemaForVersion(definition, version.Name)
	if err != nil {
		return nil, err
	}
	structural, err := schema.NewStructural(properties.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(properties.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	subresources, err := apiextensions.GetSubresourcesForVersion(definition, version.Name)
	if err != nil {
		return nil, err
	}
	if subresources == nil {
		subresources = &apiextensions.CustomResourceSubresources{}
	}
	isNamespaced := definition.Spec.Scope == apiextensions.NamespaceScoped
	return &customKind{
		definition: definition,
		structural: structural,
		strategy:   customresource.NewStrategy(nil, isNamespaced, kindOf(definition, version), validator, nil, structural, subresources.Status, subresources.Scale, nil),
		warnings:   deprecation(definition, version),
	}, nil
}

// deprecation is what the API server says of objects of a version that is deprecated.
func deprecation(definition *apiextensions.CustomResourceDefinition, version apiextensions.CustomResourceDefinitionVersion) []string {
	if !version.Deprecated {
		return nil
	}
	if version.DeprecationWarning != nil {
		return []string{*version.DeprecationWarning}
	}
	warning := fmt.Sprintf("%s/%s %s is deprecated", definition.Spec.Group, version.Name, definition.Spec.Names.Kind)
	for _, other := range definition.Spec.Versions {
		if other.Served && !other.Deprecated {
			warning += fmt.Sprintf("; use %s/%s", definition.Spec.Group, other.Name)
		}
	}
	return []string{warning}
}

// check returns the object as the API server would store it, defaults filled in,
// and why it would not: what `kubectl apply --validate=strict` is told.
func (k *customKind) check(o object.Object) (*unstructured.Unstructured, []object.Problem) {
	stored, problems := k.defaulted(o)
	created := k.created(stored)
	errs := k.strategy.Validate(context.Background(), created)
	for _, err := range errs {
		if !repeats(err, errs) {
			problems = append(problems, problemOf(o, err))
		}
	}
	if len(problems) > 0 {
		return stored, problems
	}
	for _, warning := range slices.Concat(k.warnings, k.strategy.WarningsOnCreate(context.Background(), created)) {
		problems = append(problems, warningOf(o, warning))
	}
	return stored, problems
}

// defaulted is an object without fields that the kind does not have, which are problems, and
// with its defaults filled in.
func (k *customKind) defaulted(o object.Object) (*unstructured.Unstructured, []object.Problem) {
	stored := o.DeepCopy()
	problems := k.unknownFields(o, stored)
	defaulting.PruneNonNullableNullsWithoutDefaults(stored.Object, k.structural)
	defaulting.Default(stored.Object, k.structural)
	return stored, problems
}

// created is an object as a request to create it makes it.
func (k *customKind) created(stored *unstructured.Unstructured) *unstructured.Unstructured {
	created := &unstructured.Unstructured{Object: maps.Clone(object.WithoutEndless(stored.Object))}
	metadata, _ := created.Object["metadata"].(map[string]any)
	created.Object["metadata"] = maps.Clone(metadata)
	switch {
	case !k.strategy.NamespaceScoped():
		created.SetNamespace("")
	case created.GetNamespace() == "":
		created.SetNamespace(metav1.NamespaceDefault)
	}
	k.strategy.PrepareForCreate(context.Background(), created)
	return created
}

// unknownFields takes from an object the fields that its kind does not have.
func (k *customKind) unknownFields(o object.Object, stored *unstructured.Unstructured) (problems []object.Problem) {
	unknown := pruning.PruneWithOptions(stored.Object, k.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	err, unknownMeta := objectmeta.CoerceWithOptions(nil, stored.Object, k.structural, true, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		problems = append(problems, metadataProblems(o, err)...)
	}
	for _, path := range append(unknown, unknownMeta...) {
		problems = append(problems, unknownFieldProblem(o, path, k.siblings(path)))
	}
	return problems
}

// metadataProblems are of the values that keep the metadata of an object from being read,
// for which there is an error.
func metadataProblems(o object.Object, err *field.Error) (problems []object.Problem) {
	metadata, _ := o.Object["metadata"].(map[string]any)
	for _, wrong := range decoding.Find(metadata, nil, func(content []byte) error { return json.Unmarshal(content, &metav1.ObjectMeta{}) }) {
		wrong.Path = append([]string{"metadata"}, wrong.Path...)
		problems = append(problems, unreadableProblem(o, wrong))
	}
	if len(problems) == 0 {
		problems = append(problems, problemOf(o, err))
	}
	return problems
}

// siblings are the fields that are known where an unknown one was found.
func (k *customKind) siblings(path string) []string {
	s := k.structural
	keys := object.SplitField(path)
	for _, key := range keys[:len(keys)-1] {
		property, ok := s.Properties[key]
		switch {
		case ok:
			s = &property
		case s.Items != nil:
			s = s.Items
		default:
			return nil
		}
	}
	var names []string
	for name := range s.Properties {
		names = append(names, name)
	}
	return names
}

// Default returns the text that a field has where an object of a kind leaves it out,
// in any version; empty where that is none.
func (c *Checker) Default(kind apischema.GroupKind, field []string) string {
	for _, version := range c.versions(kind) {
		s := *c.kinds[apischema.FromAPIVersionAndKind(version, kind.Kind)].structural
		for _, key := range field {
			s = s.Properties[key]
		}
		if text, ok := s.Default.Object.(string); ok {
			return text
		}
	}
	return ""
}

// repeats says whether an error says no more than others: that a rule cannot be evaluated,
// of a field whose value is wrong anyway, like a time that cannot be read, or that some
// rules were not.
func repeats(err *field.Error, errs field.ErrorList) bool {
	if !strings.Contains(err.Detail, evaluating) {
		return strings.HasPrefix(err.Detail, "some validation rules were not checked")
	}
	return slices.ContainsFunc(errs, func(other *field.Error) bool {
		return other.Field == err.Field && !strings.Contains(other.Detail, evaluating)
	})
}

// evaluating is how the API server says that a rule cannot be evaluated.
const evaluating = " evaluating rule: "

// isDefinition says whether an object is a CustomResourceDefinition.
func isDefinition(u *unstructured.Unstructured) bool {
	return u.GetKind() == "CustomResourceDefinition" && strings.HasPrefix(u.GetAPIVersion(), apiextensions.GroupName+"/")
}
