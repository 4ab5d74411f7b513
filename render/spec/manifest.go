package spec

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"example.com/gatehouse/kind"
)

// Value is a field of a spec that is written.
type Value struct {
	// Field is the name of the field below spec.
	Field string
	// Is is a string or a number.
	Is any
	// Quoted says that a string is in quotes, whatever it holds.
	Quoted bool
}

// more are the fields that a manifest mentions besides those that it has, with a value for
// those that have no default.
var more = map[string][]Value{
	"Memcached": {{Field: "image"}, {Field: "memoryLimit"}, {Field: "exporter", Is: map[string]any{}}},
	"At": {
		{Field: "image"}, {Field: "restartPolicy"}, {Field: "startingDeadlineSeconds", Is: 3600}, {Field: "activeDeadlineSeconds", Is: 600},
		{Field: "suspend", Is: true},
	},
}

// manifest is a document for an object, for a person to go on with: each field has what it
// is in a comment, and some that are not given are there as comments.
func manifest(k *kind.Kind, namespace, name string, values []Value) ([]byte, error) {
	definition, err := readDefinition(k)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\napiVersion: %s\nkind: %s\nmetadata:\n", definition.sentence(), k.GVK.GroupVersion(), k.GVK.Kind)
	b.WriteString(indented(entry("name", name, false), "  "))
	if namespace != "" {
		b.WriteString(indented(entry("namespace", namespace, false), "  "))
	}
	b.WriteString("spec:\n")
	fields := definition.Properties["spec"].Properties
	for _, v := range values {
		fmt.Fprintf(&b, "  # %s\n%s", fields[v.Field].sentence(), indented(entry(v.Field, v.Is, v.Quoted), "  "))
	}
	for _, v := range more[k.GVK.Kind] {
		if v.Is == nil {
			v.Is = fields[v.Field].Default
		}
		fmt.Fprintf(&b, "  # %s\n%s", fields[v.Field].sentence(), indented(entry(v.Field, v.Is, false), "  #"))
	}
	return b.Bytes(), nil
}

// entry is a field and its value as YAML, which reads back as that value, for every reader:
// text of several lines as a block, where it can be.
func entry(field string, value any, quoted bool) string {
	node := &yaml.Node{}
	text, isText := value.(string)
	switch {
	case quoted, isText && strings.ContainsAny(text, lineEnds):
		node.SetString(text)
		node.Style = yaml.DoubleQuotedStyle
	case isText:
		node.SetString(text)
	default:
		if err := node.Encode(value); err != nil {
			panic(err) // a number, a boolean or nothing
		}
	}
	written := write(field, node)
	var read map[string]any
	if err := yaml.Unmarshal([]byte(written), &read); isText && (err != nil || read[field] != text) {
		node.Style = yaml.DoubleQuotedStyle
		written = write(field, node)
	}
	return written
}

// lineEnds end a line for some readers of YAML, unless they are written as escapes.
const lineEnds = "\u0085\u2028\u2029"

func write(field string, value *yaml.Node) string {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	key := &yaml.Node{Kind: yaml.ScalarNode, Value: field}
	if err := encoder.Encode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{key, value}}); err != nil {
		panic(err) // to a buffer
	}
	return b.String()
}

// indented is lines with a prefix, but for empty ones.
func indented(lines, prefix string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		if line != "\n" {
			b.WriteString(prefix)
		}
		b.WriteString(line)
	}
	return b.String()
}

// described is what a schema says of a field.
type described struct {
	Description string               `json:"description"`
	Default     any                  `json:"default"`
	Properties  map[string]described `json:"properties"`
}

// sentenceEnd is where a sentence ends, in text that breaks lines anywhere.
var sentenceEnd = regexp.MustCompile(`\.\s+[A-Z]`)

// sentence is the first sentence of the description.
func (d described) sentence() string {
	text := strings.TrimSuffix(strings.Join(strings.Fields(d.Description), " "), ".")
	if end := sentenceEnd.FindStringIndex(text); end != nil {
		text = text[:end[0]]
	}
	return text + "."
}

// readDefinition is what the CustomResourceDefinition of a kind says of it.
func readDefinition(k *kind.Kind) (described, error) {
	var definition struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct{ OpenAPIV3Schema described }
			}
		}
	}
	if err := sigsyaml.Unmarshal(k.CRD, &definition); err != nil {
		return described{}, fmt.Errorf("CustomResourceDefinition of %s: %w", k.GVK.Kind, err)
	}
	for _, version := range definition.Spec.Versions {
		if version.Name == k.GVK.Version {
			return version.Schema.OpenAPIV3Schema, nil
		}
	}
	return described{}, fmt.Errorf("CustomResourceDefinition of %s has no version %s", k.GVK.Kind, k.GVK.Version)
}
