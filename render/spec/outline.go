package spec

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind"
)

// Outline is what the CustomResourceDefinition of a kind says of it.
type Outline struct {
	// Sentence says what the kind is.
	Sentence string
	// Fields are those of its spec: first those that `kubectl get` shows, as it shows them,
	// then the others by name.
	Fields []Field

	hasSpec bool
}

// Field is a field of a spec.
type Field struct {
	Name string
	// Flag is the name of the flag that gives it a value: each scalar has one, and all that a
	// spec has to have. It is empty for others.
	Flag string
	// Usage says what it is.
	Usage string
	// Required says that there is no spec without it.
	Required bool
	// Shown says whether `kubectl get` shows it, also without `-o wide`.
	Shown bool
	// Default and Example are values; nil where the CustomResourceDefinition has none.
	Default, Example any

	schema apiextensionsv1.JSONSchemaProps
}

// NewOutline reads the CustomResourceDefinition of a kind.
func NewOutline(k *kind.Kind) (*Outline, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(k.CRD, &crd); err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition of %s: %w", k.GVK.Kind, err)
	}
	for _, version := range crd.Spec.Versions {
		if version.Name == k.GVK.Version && version.Schema != nil && version.Schema.OpenAPIV3Schema != nil {
			return newOutline(&version), nil
		}
	}
	return nil, fmt.Errorf("CustomResourceDefinition of %s has no version %s", k.GVK.Kind, k.GVK.Version)
}

func newOutline(version *apiextensionsv1.CustomResourceDefinitionVersion) *Outline {
	schema := version.Schema.OpenAPIV3Schema
	spec, hasSpec := schema.Properties["spec"]
	o := &Outline{Sentence: sentence(schema.Description), hasSpec: hasSpec}
	columns := columnsOf(version)
	for name, schema := range spec.Properties {
		o.Fields = append(o.Fields, newField(name, schema, slices.Contains(spec.Required, name), columns))
	}
	place := func(f Field) int {
		if i := slices.IndexFunc(columns, func(c column) bool { return c.field == f.Name }); i >= 0 {
			return i
		}
		return len(columns)
	}
	slices.SortFunc(o.Fields, func(a, b Field) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), strings.Compare(a.Name, b.Name))
	})
	o.nameFlags()
	return o
}

// column is a column of `kubectl get` that shows a field of a spec.
type column struct {
	field  string
	isWide bool
}

func columnsOf(version *apiextensionsv1.CustomResourceDefinitionVersion) (columns []column) {
	for _, c := range version.AdditionalPrinterColumns {
		if field, ok := strings.CutPrefix(c.JSONPath, ".spec."); ok {
			columns = append(columns, column{field, c.Priority > 0})
		}
	}
	return columns
}

func newField(name string, schema apiextensionsv1.JSONSchemaProps, isRequired bool, columns []column) Field {
	f := Field{Name: name, Default: valueOf(schema.Default), Example: valueOf(schema.Example), schema: schema}
	f.Usage = usage(name, schema.Description)
	f.Required = isRequired && f.Default == nil
	f.Shown = slices.Contains(columns, column{field: name})
	return f
}

// beginning matches how a description begins that says what a field is.
var beginning = regexp.MustCompile(`^(is|are) (a|an|how|the|what|when|where|which|whether) `)

// usage is the first sentence of the description of a field, without its name.
func usage(name, description string) string {
	text := strings.TrimPrefix(strings.TrimSuffix(sentence(description), "."), name+" ")
	return beginning.ReplaceAllString(text, "$2 ")
}

// valueOf is a value that a schema has.
func valueOf(raw *apiextensionsv1.JSON) (value any) {
	if raw != nil {
		_ = json.Unmarshal(raw.Raw, &value) // it was JSON already
	}
	return value
}

// others are the flags that a command has besides those of fields.
var others = []string{"env", "help", "namespace", "root"}

// flagName matches what can be written as a flag.
var flagName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]*$`)

// nameFlags gives fields the names of their flags, each another.
func (o *Outline) nameFlags() {
	taken := slices.Clone(others)
	for i := range o.Fields {
		f := &o.Fields[i]
		if !f.isScalar() && !f.Required || !flagName.MatchString(f.Name) {
			continue
		}
		for _, name := range []string{kebab(f.Name), "spec-" + kebab(f.Name), f.Name} {
			if f.Flag == "" && !slices.Contains(taken, name) {
				f.Flag = name
			}
		}
		taken = append(taken, f.Flag)
	}
}

// kebab is the name of a field as flags are written: memory-limit for memoryLimit.
func kebab(name string) string {
	for _, start := range []*regexp.Regexp{endOfInitials, startOfWord} {
		name = start.ReplaceAllString(name, "$1-$2")
	}
	return strings.ToLower(name)
}

var (
	endOfInitials = regexp.MustCompile(`([A-Z]+)([A-Z][a-z])`)
	startOfWord   = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

// Type is the type of a value, as usage texts have it.
func (f Field) Type() string {
	switch {
	case f.schema.XIntOrString:
		return "value"
	case f.schema.Type == "boolean":
		return "bool"
	case f.schema.Type == "integer":
		return "int"
	case f.isScalar():
		return f.schema.Type
	}
	return "YAML"
}

// Sample is a value to begin with: the example, the default, or else anything of its type.
func (f Field) Sample() any {
	values := f.Values()
	switch {
	case f.Example != nil:
		return f.Example
	case f.Default != nil:
		return f.Default
	case len(values) > 0:
		return values[0]
	case f.schema.Type == "boolean":
		return true
	case f.schema.Type == "integer", f.schema.Type == "number":
		return ptr.Deref(f.schema.Minimum, 1)
	}
	return "TEXT"
}

// Values are all that the field may be, as text; nil where these are not listed.
func (f Field) Values() (values []string) {
	for _, value := range f.schema.Enum {
		values = append(values, Text(valueOf(&value)))
	}
	return values
}

func (f Field) isScalar() bool {
	return f.schema.XIntOrString || slices.Contains([]string{"string", "integer", "number", "boolean"}, f.schema.Type)
}

// isTime says whether values are text that YAML might read as a time.
func (f Field) isTime() bool { return f.schema.Format == "date-time" || f.schema.Format == "date" }

// Text is a value as Parse reads it.
func Text(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil { // it was read from JSON
		panic(err)
	}
	return string(text)
}

// Parse reads a value of the type of the field. Its error says what to write.
func (f Field) Parse(text string) (any, error) {
	switch integer, err := strconv.ParseInt(text, 10, 64); {
	case f.schema.XIntOrString && err == nil && strconv.FormatInt(integer, 10) == text:
		return integer, nil
	case f.schema.XIntOrString, f.schema.Type == "string":
		return text, nil
	case f.schema.Type == "integer" && err != nil:
		return nil, errors.New("write a whole number")
	case f.schema.Type == "integer", f.schema.Type == "number" && err == nil:
		return integer, nil
	case f.schema.Type == "number":
		return parseNumber(text)
	case f.schema.Type == "boolean":
		return parseBoolean(text)
	}
	return parseYAML(text)
}

func parseNumber(text string) (any, error) {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(number) || math.IsInf(number, 0) {
		return nil, errors.New("write a number")
	}
	return number, nil
}

func parseBoolean(text string) (any, error) {
	value, err := strconv.ParseBool(text)
	if err != nil {
		return nil, errors.New("write true or false")
	}
	return value, nil
}

func parseYAML(text string) (value any, err error) {
	content, err := yaml.YAMLToJSONStrict([]byte(text))
	if err == nil {
		err = json.Unmarshal(content, &value)
	}
	if err != nil || value == nil {
		return nil, errors.New("write it as YAML, like '[a, b]' or '{a: b}'")
	}
	return value, nil
}

// sentenceEnd is where a sentence ends, in text that breaks lines anywhere.
var sentenceEnd = regexp.MustCompile(`\.\s+[A-Z]`)

// sentence is the first sentence of a description.
func sentence(description string) string {
	text := strings.TrimSuffix(strings.Join(strings.Fields(description), " "), ".")
	if end := sentenceEnd.FindStringIndex(text); end != nil {
		text = text[:end[0]]
	}
	return text + "."
}
