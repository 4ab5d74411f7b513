package verdict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verdict/apiserver"
	"example.com/gatehouse/render/verdict/problem"
	"example.com/gatehouse/render/verdict/zone"
)

// customKind is a served version of a CustomResourceDefinition.
type customKind struct {
	definition *apiextensions.CustomResourceDefinition
	warnings   []string    // of the API server about each object
	storage    *customKind // the stored version

	// compiled is lazy: it takes more memory than the definition, which may have no objects.
	compiled func() compiled
	types    func() managedfields.TypeConverter // to merge objects; nil without a schema
}

// compiled is the schema of a custom kind, ready to check objects.
type compiled struct {
	structural *schema.Structural
	strategy   rest.RESTCreateStrategy
	err        error // with an empty schema

	parsesQuantities bool // a rule parses text as a quantity
	hasZones         bool // a field has the format of package zone
}

// customKinds are kinds by version.
type customKinds map[apischema.GroupVersionKind]*customKind

// embedded caches the results of embeddedKinds.
var embedded sync.Map // of func() (customKinds, []manifest.Problem), by embeddedKey

type embeddedKey struct {
	kinds      *registry.Kinds
	kubernetes apiserver.Version
}

// embeddedKinds returns the kinds of this program, and the problems of their
// CustomResourceDefinitions.
func embeddedKinds(kinds *registry.Kinds, kubernetes apiserver.Version) (customKinds, []manifest.Problem) {
	read, _ := embedded.LoadOrStore(embeddedKey{kinds, kubernetes},
		sync.OnceValues(func() (customKinds, []manifest.Problem) { return readEmbedded(kinds, kubernetes) }))
	return read.(func() (customKinds, []manifest.Problem))()
}

func readEmbedded(kinds *registry.Kinds, kubernetes apiserver.Version) (all customKinds, problems []manifest.Problem) {
	all = customKinds{}
	for i := range kinds.All {
		definition, _, err := kinds.All[i].ReadCRD()
		if err != nil {
			panic(err) // registry.New has read it
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(definition)
		if err != nil {
			panic(err) // it is plain data
		}
		defined, found := customKinds{}.define(manifest.Object{
			Unstructured: &unstructured.Unstructured{Object: content},
		}, kubernetes)
		maps.Copy(all, defined)
		for _, p := range found {
			p.Message = fmt.Sprintf("in the CustomResourceDefinition of this program for %s: %s",
				kinds.All[i].GVK().Kind, p.Message)
			problems = append(problems, p)
		}
	}
	return all, problems
}

// define returns the kinds of a CustomResourceDefinition, and its problems. It returns no kinds for
// a definition of known ones.
func (known customKinds) define(crd manifest.Object, kubernetes apiserver.Version) (customKinds, []manifest.Problem) {
	served, ok := kubernetes.Lookup(crd.GroupVersionKind())
	if !ok {
		return nil, problem.FromErrors(crd, field.ErrorList{notServed(crd.GroupVersionKind(), kubernetes)})
	}
	decoded, problems := decode(crd, served)
	if len(problems) > 0 {
		return nil, problems
	}
	definition := decoded.(*apiextensions.CustomResourceDefinition)
	if known.include(definition) {
		return nil, problem.FromErrors(crd, checkMetadata(crd.Unstructured, false))
	}
	if problems = creationProblems(crd, served, decoded); manifest.HasErrors(problems) {
		return nil, problems
	}
	kinds := customKinds{}
	var storage *customKind
	for _, version := range definition.Spec.Versions {
		gvk := kindOf(definition, version)
		kind := newCustomKind(definition, version, kubernetes)
		if version.Storage {
			storage = kind
		}
		if !version.Served {
			continue
		}
		kinds[gvk] = kind
		missing, isForeign := missingFields(kind, known[gvk], gvk.Version)
		message := "copy the CustomResourceDefinition of this version of render, and patch the copy"
		if isForeign {
			message = fmt.Sprintf("this is another kind with the name of this program's %s: give it another group, "+
				"or build a render without %[1]s, as docs/kinds.md shows", gvk.Kind)
		}
		if len(missing) > 0 {
			return nil, append(problems, problem.OfObject(crd, "has no "+strings.Join(missing, ", ")+": "+message))
		}
	}
	for _, kind := range kinds {
		kind.storage = storage // a valid definition has one
	}
	return kinds, problems
}

func newCustomKind(definition *apiextensions.CustomResourceDefinition,
	version apiextensions.CustomResourceDefinitionVersion, kubernetes apiserver.Version) *customKind {
	types := sync.OnceValue(func() managedfields.TypeConverter { return typesOf(definition, version.Name) })
	return &customKind{definition: definition, warnings: deprecation(definition, version), types: types,
		compiled: sync.OnceValue(func() compiled {
			defer kubernetes.Enter()()
			c, err := compile(definition, kindOf(definition, version), kubernetes)
			if err != nil {
				return compiled{structural: &schema.Structural{}, err: err}
			}
			return c
		})}
}

// include reports whether all kinds of a definition are known with the same spec.
func (known customKinds) include(definition *apiextensions.CustomResourceDefinition) bool {
	for _, version := range definition.Spec.Versions {
		kind, ok := known[kindOf(definition, version)]
		if !ok || kind.definition.Name != definition.Name || !reflect.DeepEqual(kind.definition.Spec, definition.Spec) {
			return false
		}
	}
	return len(definition.Spec.Versions) > 0
}

// replace replaces known kinds with all of their versions: a cluster serves no other version.
func (known customKinds) replace(defined customKinds) {
	for gvk := range defined {
		maps.DeleteFunc(known, func(k apischema.GroupVersionKind, _ *customKind) bool {
			return k.GroupKind() == gvk.GroupKind()
		})
	}
	maps.Copy(known, defined)
}

func kindOf(definition *apiextensions.CustomResourceDefinition,
	version apiextensions.CustomResourceDefinitionVersion) apischema.GroupVersionKind {
	return apischema.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name,
		Kind: definition.Spec.Names.Kind}
}

// missingFields returns the spec fields of a known kind that another definition of its version lacks. That is
// a foreign kind if it lacks most of them, or has others: older versions of a kind have fewer fields.
func missingFields(k, known *customKind, version string) (missing []string, isForeign bool) {
	if known == nil {
		return nil, false
	}
	fields := k.specFields(version)
	wanted := known.specFields(version)
	for name := range wanted {
		if _, ok := fields[name]; !ok {
			missing = append(missing, "spec."+name)
		}
	}
	slices.Sort(missing)
	return missing, 2*len(missing) > len(wanted) || len(fields) > len(wanted)-len(missing)
}

func (k *customKind) specFields(version string) map[string]apiextensions.JSONSchemaProps {
	s, err := apiextensions.GetSchemaForVersion(k.definition, version)
	if err != nil || s == nil || s.OpenAPIV3Schema == nil {
		return nil
	}
	return s.OpenAPIV3Schema.Properties["spec"].Properties
}

func compile(definition *apiextensions.CustomResourceDefinition, gvk apischema.GroupVersionKind,
	kubernetes apiserver.Version) (c compiled, err error) {
	definition = kubernetes.WithoutFormats(definition).(*apiextensions.CustomResourceDefinition)
	properties, err := apiextensions.GetSchemaForVersion(definition, gvk.Version)
	if err != nil {
		return compiled{}, err
	}
	if c.structural, err = schema.NewStructural(properties.OpenAPIV3Schema); err != nil {
		return compiled{}, err
	}
	published := &spec.Schema{}
	if err := validation.ConvertJSONSchemaPropsWithPostProcess(properties.OpenAPIV3Schema, published,
		validation.StripUnsupportedFormatsPostProcessorForVersion(
			environment.DefaultCompatibilityVersion())); err != nil {
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
	c.parsesQuantities = bytes.Contains(text, []byte("uantity(")) // quantity() and isQuantity()
	c.hasZones = zone.DisableRules(c.structural)
	c.strategy = customresource.NewStrategy(nil, isNamespaced(definition), gvk,
		validation.NewSchemaValidatorFromOpenAPI(published), nil, c.structural, subresources.Status,
		subresources.Scale, nil)
	return c, err
}

func isNamespaced(definition *apiextensions.CustomResourceDefinition) bool {
	return definition.Spec.Scope == apiextensions.NamespaceScoped
}

// deprecation returns the warning of the API server about objects of a deprecated version. It is
// defaultDeprecationWarning of k8s.io/apiextensions-apiserver/pkg/apiserver.
func deprecation(definition *apiextensions.CustomResourceDefinition,
	deprecated apiextensions.CustomResourceDefinitionVersion) []string {
	if !deprecated.Deprecated {
		return nil
	}
	if deprecated.DeprecationWarning != nil {
		return []string{*deprecated.DeprecationWarning}
	}
	warning := fmt.Sprintf("%s/%s %s is deprecated", definition.Spec.Group, deprecated.Name, definition.Spec.Names.Kind)
	newest := deprecated.Name
	for _, other := range definition.Spec.Versions {
		if other.Served && !other.Deprecated && version.CompareKubeAwareVersionStrings(newest, other.Name) < 0 {
			newest = other.Name
		}
	}
	if newest != deprecated.Name {
		warning += fmt.Sprintf("; use %s/%s %s", definition.Spec.Group, newest, definition.Spec.Names.Kind)
	}
	return []string{warning}
}
