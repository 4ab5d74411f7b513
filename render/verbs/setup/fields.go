package setup

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/kind"
)

// Outline describes the spec of a kind, from its CustomResourceDefinition.
type Outline struct {
	// Sentence describes the kind.
	Sentence string
	// Fields are the fields of the spec: first the columns of `kubectl get`, then required fields, then
	// the others by name.
	Fields []Field

	hasSpec bool
}

// Field is a field of a spec.
type Field struct {
	Name string
	// Flag is the name of the flag that sets the field. Optional fields that are not scalars have no flag.
	Flag string
	// Usage describes the field.
	Usage string
	// Required reports whether every spec must set the field.
	Required bool
	// Shown reports whether `kubectl get` shows the field without `-o wide`.
	Shown bool
	// Default and Example are values from the schema, or nil.
	Default, Example any
	// Values are the values of an enum.
	Values []string

	schema apiextensionsv1.JSONSchemaProps
}

// NewOutline reads the CustomResourceDefinition of a kind. It is empty for a wrong one, which the check of kinds
// reports.
func NewOutline(k *kind.Kind) *Outline {
	_, version, err := k.ReadCRD()
	if err != nil || version == nil || version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
		return &Outline{}
	}
	var columns []string // the fields in the columns of `kubectl get`
	for _, column := range version.AdditionalPrinterColumns {
		if name, ok := strings.CutPrefix(column.JSONPath, ".spec."); ok && column.Priority == 0 {
			columns = append(columns, name)
		}
	}
	schema := version.Schema.OpenAPIV3Schema
	spec, hasSpec := schema.Properties["spec"]
	o := &Outline{Sentence: firstSentence(schema.Description), hasSpec: hasSpec}
	for name, schema := range spec.Properties {
		f := Field{Name: name, Usage: firstSentence(schema.Description), Default: decode(schema.Default),
			Example: decode(schema.Example), schema: schema}
		f.Required = f.Default == nil && slices.Contains(spec.Required, name)
		f.Shown = slices.Contains(columns, name)
		if flag := kebab(name); (f.Type() != "YAML" || f.Required) && !slices.Contains(commonFlags, flag) {
			f.Flag = flag
		}
		for _, value := range schema.Enum {
			f.Values = append(f.Values, Text(decode(&value)))
		}
		o.Fields = append(o.Fields, f)
	}
	rank := func(f Field) int {
		switch {
		case f.Shown:
			return slices.Index(columns, f.Name)
		case f.Required:
			return len(columns)
		}
		return len(columns) + 1
	}
	slices.SortFunc(o.Fields, func(a, b Field) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Name, b.Name))
	})
	return o
}

func decode(raw *apiextensionsv1.JSON) (value any) {
	if raw != nil {
		_ = json.Unmarshal(raw.Raw, &value) // raw is valid JSON
	}
	return value
}

// commonFlags are the flags of every kind's command.
var commonFlags = []string{"env", "help", "max-cpu", "max-memory", "namespace", "root"}

// wordStart matches the letters around the start of a word: yL in memoryLimit, LPa in URLPath.
var wordStart = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// kebab converts the name of a field to the name of a flag: memoryLimit to memory-limit.
func kebab(name string) string {
	return strings.ToLower(wordStart.ReplaceAllString(name, "$1$3-$2$4"))
}

// flagTypes maps scalar types of schemas to types in usage texts.
var flagTypes = map[string]string{"boolean": "bool", "integer": "int", "string": "string", "number": "number"}

// Type returns the type of the field for usage texts.
func (f Field) Type() string {
	if f.schema.XIntOrString {
		return "value"
	}
	return cmp.Or(flagTypes[f.schema.Type], "YAML")
}

// Sample returns the field's value in the example of the help: from the schema, or a placeholder.
func (f Field) Sample() string {
	switch value := cmp.Or(f.Example, f.Default); {
	case value != nil:
		return Text(value)
	case len(f.Values) > 0:
		return f.Values[0]
	case f.Type() == "bool":
		return "true"
	}
	return strings.ToUpper(f.Flag)
}

// Text formats a value for Parse.
func Text(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // the value comes from JSON
	}
	return string(text)
}

// Parse parses a value of the field: a string as it is, and any other type as YAML. Rendering validates it.
func (f Field) Parse(text string) (value any, err error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("must be UTF-8")
	}
	if f.Type() == "string" {
		return text, nil
	}
	content, err := yaml.YAMLToJSONStrict([]byte(text))
	if err == nil {
		err = json.Unmarshal(content, &value) // keeps integers
	}
	_, isInteger := value.(int64)
	switch {
	case f.Type() == "value" && (!isInteger || Text(value) != text):
		return text, nil
	case f.Type() == "int" && !isInteger:
		return nil, errors.New("must be a whole number")
	case err != nil || value == nil:
		return nil, errors.New("must be YAML, like '[a, b]' or '{a: b}'")
	}
	return value, nil
}

// sentenceEnd matches the end of a sentence.
var sentenceEnd = regexp.MustCompile(`\.\s+[A-Z]`)

// firstSentence returns the first sentence of a description, on one line.
func firstSentence(description string) string {
	text := strings.TrimSuffix(strings.Join(strings.Fields(description), " "), ".")
	if end := sentenceEnd.FindStringIndex(text); end != nil {
		text = text[:end[0]]
	}
	return text + "."
}
