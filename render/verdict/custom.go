package verdict

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/verdict/zone"
)

// customKind checks the objects of one version of a CustomResourceDefinition with
// the API server's own code.
type customKind struct {
	definition *apiextensions.CustomResourceDefinition
	warnings   []string // what the API server says of each object of the version

	// compiled returns what checks objects. It is not made without any, as it takes more memory than
	// the definition.
	compiled func() compiled
}

// compiled is the schema of a custom kind, compiled to check objects.
type compiled struct {
	structural *schema.Structural
	strategy   rest.RESTCreateStrategy
	err        error // why there is no more than an empty schema

	// parsesQuantities reports whether a rule parses text as a quantity.
	parsesQuantities bool
	// hasZones reports whether the rule of a field is zone.Rule.
	hasZones bool
}

// customKinds are the kinds that the CustomResourceDefinitions of an environment
// define, or are built in.
type customKinds map[apischema.GroupVersionKind]*customKind

// embedded has what brought returns, made once for each list of kinds and each version.
var embedded sync.Map // of func() (customKinds, []manifest.Problem), by embeddedKey

type embeddedKey struct {
	written    *registry.Kinds
	kubernetes apiserver.Version
}

// brought returns the kinds of the CustomResourceDefinitions that come with this program,
// and what the API server would say of those.
func brought(written *registry.Kinds, kubernetes apiserver.Version) (customKinds, []manifest.Problem) {
	read, _ := embedded.LoadOrStore(embeddedKey{written, kubernetes}, sync.OnceValues(func() (customKinds, []manifest.Problem) { return readBrought(written, kubernetes) }))
	return read.(func() (customKinds, []manifest.Problem))()
}

func readBrought(written *registry.Kinds, kubernetes apiserver.Version) (all customKinds, problems []manifest.Problem) {
	all = customKinds{}
	for i := range written.All {
		definition, _, err := written.All[i].ReadCRD()
		if err != nil {
			panic(err) // registry.New has read it
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(definition)
		if err != nil {
			panic(err) // it is plain data
		}
		kinds, wrong := customKinds{}.defined(manifest.Object{Unstructured: &unstructured.Unstructured{Object: content}}, kubernetes)
		maps.Copy(all, kinds)
		for _, p := range wrong {
			p.Message = fmt.Sprintf("in the CustomResourceDefinition that comes with this program for %s: %s", written.All[i].GVK().Kind, p.Message)
			problems = append(problems, p)
		}
	}
	return all, problems
}

// defined returns the kinds of a CustomResourceDefinition, and what the API server would
// say of it. Those that are known it does not make again.
func (known customKinds) defined(crd manifest.Object, kubernetes apiserver.Version) (customKinds, []manifest.Problem) {
	served, ok := kubernetes.Lookup(crd.GroupVersionKind())
	if !ok {
		return nil, checkBuiltin(crd, kubernetes)
	}
	decoded, problems := decode(crd, served)
	if len(problems) > 0 {
		return nil, problems
	}
	definition := decoded.(*apiextensions.CustomResourceDefinition)
	if known.include(definition) {
		return nil, problemsOf(crd, checkMetadata(crd.Unstructured, false))
	}
	if problems = creationProblems(crd, served, decoded); manifest.HasErrors(problems) {
		return nil, problems
	}
	kinds, missing := known.servedKinds(crd, definition, kubernetes)
	return kinds, append(problems, missing...)
}

// servedKinds returns the kinds of a valid CustomResourceDefinition, and which fields of known
// kinds they lack.
func (known customKinds) servedKinds(crd manifest.Object, definition *apiextensions.CustomResourceDefinition, kubernetes apiserver.Version) (customKinds, []manifest.Problem) {
	kinds := customKinds{}
	for _, version := range definition.Spec.Versions {
		if !version.Served {
			continue
		}
		gvk := kindOf(definition, version)
		kind := &customKind{definition: definition, warnings: deprecation(definition, version), compiled: sync.OnceValue(func() compiled {
			defer kubernetes.Enter()()
			c, err := compile(definition, gvk)
			if err != nil {
				return compiled{structural: &schema.Structural{}, err: err}
			}
			return c
		})}
		if missing := kind.missingFields(known[gvk]); len(missing) > 0 {
			return nil, []manifest.Problem{invalid(crd, fmt.Sprintf("has no %s: copy the CustomResourceDefinition that comes with this version of render, and patch that", strings.Join(missing, ", ")))}
		}
		kinds[gvk] = kind
	}
	return kinds, nil
}

// include reports whether the kinds of a definition are known exactly as it defines them.
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

// missingFields returns the fields of the spec that a kind should have, because the one
// that comes with this program has them, and does not have.
func (k *customKind) missingFields(known *customKind) (missing []string) {
	if known == nil {
		return nil
	}
	has := k.compiled().structural.Properties["spec"].Properties
	for name := range known.compiled().structural.Properties["spec"].Properties {
		if _, ok := has[name]; !ok {
			missing = append(missing, "spec."+name)
		}
	}
	slices.Sort(missing)
	return missing
}

// compile compiles the schema of a version of a definition.
func compile(definition *apiextensions.CustomResourceDefinition, gvk apischema.GroupVersionKind) (compiled, error) {
	properties, err := apiextensions.GetSchemaForVersion(definition, gvk.Version)
	if err != nil {
		return compiled{}, err
	}
	structural, err := schema.NewStructural(properties.OpenAPIV3Schema)
	if err != nil {
		return compiled{}, err
	}
	validator, _, err := validation.NewSchemaValidator(properties.OpenAPIV3Schema)
	if err != nil {
		return compiled{}, err
	}
	subresources, err := apiextensions.GetSubresourcesForVersion(definition, gvk.Version)
	if err != nil {
		return compiled{}, err
	}
	if subresources == nil {
		subresources = &apiextensions.CustomResourceSubresources{}
	}
	text, err := json.Marshal(properties.OpenAPIV3Schema)
	evaluated, hasZones := withoutZoneRule(structural)
	return compiled{
		structural:       structural,
		strategy:         customresource.NewStrategy(nil, isNamespaced(definition), gvk, validator, nil, evaluated, subresources.Status, subresources.Scale, nil),
		parsesQuantities: bytes.Contains(text, []byte("uantity(")), // quantity() and isQuantity()
		hasZones:         hasZones,
	}, err
}

// isNamespaced reports whether the objects of a definition are in namespaces.
func isNamespaced(definition *apiextensions.CustomResourceDefinition) bool {
	return definition.Spec.Scope == apiextensions.NamespaceScoped
}

// withoutZoneRule returns a schema without zone.Rule, and whether it had that.
func withoutZoneRule(structural *schema.Structural) (without *schema.Structural, had bool) {
	(&schema.Visitor{Structural: func(s *schema.Structural) bool {
		had = had || slices.ContainsFunc(s.XValidations, isZoneRule)
		return false
	}}).Visit(structural)
	if !had {
		return structural, false // of which there are large ones
	}
	without = structural.DeepCopy()
	(&schema.Visitor{Structural: func(s *schema.Structural) bool {
		count := len(s.XValidations)
		s.XValidations = slices.DeleteFunc(s.XValidations, isZoneRule)
		return len(s.XValidations) < count
	}}).Visit(without)
	return without, true
}

func isZoneRule(rule apiextensionsv1.ValidationRule) bool { return rule.Message == zone.Rule }

// zoneErrors checks, in the place of zone.Rule, the times that the rule is for.
func (k *customKind) zoneErrors(o *unstructured.Unstructured) (errs field.ErrorList) {
	if !k.compiled().hasZones {
		return nil
	}
	eachValue(k.compiled().structural, o.Object, nil, func(s *schema.Structural, value any, path []string) {
		if text, ok := value.(string); ok && slices.ContainsFunc(s.XValidations, isZoneRule) {
			if problem := zone.Check(text); problem != "" {
				errs = append(errs, &field.Error{Type: field.ErrorTypeInvalid, Field: manifest.JoinField(path), BadValue: text, Detail: problem})
			}
		}
	})
	return errs
}

// deprecation returns what the API server says of objects of a version that is deprecated.
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
func (k *customKind) check(o manifest.Object) (*unstructured.Unstructured, []manifest.Problem) {
	if err := k.compiled().err; err != nil {
		return o.Unstructured, []manifest.Problem{invalid(o, err.Error())}
	}
	stored, problems := k.defaulted(o)
	if errs := k.hugeQuantities(stored); len(errs) > 0 {
		return stored, append(problems, problemsOf(o, errs)...)
	}
	created := k.created(stored)
	errs := k.validate(created)
	for _, err := range errs {
		if !repeats(err, errs) {
			problems = append(problems, problemOf(o, err))
		}
	}
	if len(problems) > 0 {
		return stored, problems
	}
	for _, warning := range slices.Concat(k.warnings, k.compiled().strategy.WarningsOnCreate(context.Background(), created)) {
		problems = append(problems, warningOf(o, warning))
	}
	return stored, problems
}

// validate returns why the API server would not create an object, which is complete.
func (k *customKind) validate(created *unstructured.Unstructured) field.ErrorList {
	errs := k.compiled().strategy.Validate(context.Background(), created)
	for _, err := range k.zoneErrors(created) {
		if !hasError(errs, err.Field) {
			errs = append(errs, err)
		}
	}
	return errs
}

// defaulted returns an object with its defaults, without the fields that the kind does not
// have, which are the problems.
func (k *customKind) defaulted(o manifest.Object) (*unstructured.Unstructured, []manifest.Problem) {
	stored := o.DeepCopy()
	problems := k.unknownFields(o, stored)
	defaulting.PruneNonNullableNullsWithoutDefaults(stored.Object, k.compiled().structural)
	defaulting.Default(stored.Object, k.compiled().structural)
	return stored, problems
}

// hugeQuantities finds the texts that rules, or a kind's own functions, would take minutes to
// parse as quantities.
func (k *customKind) hugeQuantities(stored *unstructured.Unstructured) (errs field.ErrorList) {
	eachValue(k.compiled().structural, stored.Object, nil, func(s *schema.Structural, value any, path []string) {
		text, _ := value.(string)
		if (s.XIntOrString || k.compiled().parsesQuantities) && decoding.IsHugeQuantity(text) {
			errs = append(errs, &field.Error{Type: field.ErrorTypeInvalid, Field: manifest.JoinField(path), BadValue: text, Detail: decoding.QuantityForm})
		}
	})
	return errs
}

// eachValue calls visit for each value in content of a custom resource that has a schema, the
// outer ones first.
func eachValue(s *schema.Structural, content any, path []string, visit func(s *schema.Structural, value any, path []string)) {
	visit(s, content, path)
	switch content := content.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(content)) {
			if property, ok := s.Properties[key]; ok {
				eachValue(&property, content[key], append(path, key), visit)
			} else if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
				eachValue(s.AdditionalProperties.Structural, content[key], append(path, key), visit)
			}
		}
	case []any:
		for i := 0; s.Items != nil && i < len(content); i++ {
			eachValue(s.Items, content[i], append(path, index(i)), visit)
		}
	}
}

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// created returns an object as a request to create it completes it.
func (k *customKind) created(stored *unstructured.Unstructured) *unstructured.Unstructured {
	created := &unstructured.Unstructured{Object: maps.Clone(stored.Object)}
	metadata, _ := created.Object["metadata"].(map[string]any)
	created.Object["metadata"] = maps.Clone(metadata)
	apiserver.SetNamespace(created, isNamespaced(k.definition))
	k.compiled().strategy.PrepareForCreate(context.Background(), created)
	return created
}

// unknownFields takes from an object the fields that its kind does not have.
func (k *customKind) unknownFields(o manifest.Object, stored *unstructured.Unstructured) (problems []manifest.Problem) {
	unknown := pruning.PruneWithOptions(stored.Object, k.compiled().structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	err, unknownMeta := objectmeta.CoerceWithOptions(nil, stored.Object, k.compiled().structural, true, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		// The error does not say which value of the metadata is to blame.
		problems = misfitProblems(o, map[string]any{"metadata": o.Object["metadata"]}, reflect.TypeFor[metav1.PartialObjectMetadata](), apiserver.Kind{})
		if len(problems) == 0 {
			problems = []manifest.Problem{problemOf(o, err)}
		}
	}
	for _, path := range append(unknown, unknownMeta...) {
		problems = append(problems, unknownFieldProblem(o, path, k.siblings(path), ""))
	}
	return problems
}

// siblings returns the fields that the schema has beside an unknown one.
func (k *customKind) siblings(path string) []string {
	s := k.compiled().structural
	keys := manifest.SplitField(path)
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

// Default returns the default of a text field of a kind, in any version; empty where it has
// none.
func (c *Checker) Default(kind apischema.GroupKind, field []string) string {
	for _, version := range c.versions(kind) {
		s := *c.kinds[apischema.FromAPIVersionAndKind(version, kind.Kind)].compiled().structural
		for _, key := range field {
			s = s.Properties[key]
		}
		if text, ok := s.Default.Object.(string); ok {
			return text
		}
	}
	return ""
}

// repeats reports whether an error says no more than others: that a rule cannot be evaluated
// on a value that is wrong anyway, like a time that cannot be read, or that some rules were not
// checked.
func repeats(err *field.Error, errs field.ErrorList) bool {
	if !strings.Contains(err.Detail, evaluating) {
		return strings.HasPrefix(err.Detail, "some validation rules were not checked")
	}
	return hasError(errs, err.Field)
}

// hasError reports whether errors say what is wrong with a field, and not only that a rule cannot be
// evaluated on it.
func hasError(errs field.ErrorList, name string) bool {
	return slices.ContainsFunc(errs, func(err *field.Error) bool {
		return err.Field == name && !strings.Contains(err.Detail, evaluating)
	})
}

// evaluating is in the errors of rules that cannot be evaluated.
const evaluating = " evaluating rule: "

// isDefinition reports whether an object is a CustomResourceDefinition.
func isDefinition(u *unstructured.Unstructured) bool {
	return u.GetKind() == "CustomResourceDefinition" && strings.HasPrefix(u.GetAPIVersion(), apiextensions.GroupName+"/")
}
