// Command reference prints a reference of kinds, in Markdown. Its arguments are the files of their
// CustomResourceDefinitions; without arguments, it prints the reference of Memcached and At.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/apis/crds"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

const head = `# Reference

For people who write these objects or read their status: each field, with its type, default and bounds.
Generated from the CustomResourceDefinitions; ` + "`kubectl explain`" + ` prints the same.
`

// run writes the reference of the kinds in files, or nothing if there is an error.
func run(out io.Writer, files []string) error {
	var page bytes.Buffer
	page.WriteString(head)
	var errs []error
	if len(files) == 0 {
		errs = append(errs, writeKind(&page, crds.Memcached), writeKind(&page, crds.At))
	}
	for _, file := range files {
		definition, err := os.ReadFile(file) //nolint:gosec // the user names the files
		if err != nil {
			errs = append(errs, err)
		} else if err := writeKind(&page, definition); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", file, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	_, err := page.WriteTo(out)
	return err
}

// writeKind writes a section for each version of a kind.
func writeKind(page *bytes.Buffer, definition []byte) error {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(definition, &crd); err != nil {
		return err
	}
	if crd.Kind != "CustomResourceDefinition" {
		return errors.New(
			"not a CustomResourceDefinition: name the files that controller-gen writes, one for each kind")
	}
	for _, version := range crd.Spec.Versions {
		if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
			continue
		}
		schema := version.Schema.OpenAPIV3Schema
		fmt.Fprintf(page, "\n## %s\n\n`%s/%s`", crd.Spec.Names.Kind, crd.Spec.Group, version.Name)
		if names := crd.Spec.Names.ShortNames; len(names) > 0 {
			fmt.Fprintf(page, ", short name `%s`", strings.Join(names, "`, `"))
		}
		fmt.Fprintf(page, ". %s\n", oneLine(schema.Description))
		for _, part := range []string{"spec", "status"} {
			if len(schema.Properties[part].Properties) > 0 {
				fmt.Fprintf(page, "\n| %s | | |\n| --- | --- | --- |\n", part)
				writeFields(page, "", schema.Properties[part])
			}
		}
	}
	return nil
}

// writeFields writes a row for each field of a schema, and for the fields in it, unless its type is
// one of Kubernetes.
func writeFields(page *bytes.Buffer, prefix string, schema apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		field := schema.Properties[name]
		fmt.Fprintf(page, "| `%s%s` | %s | %s |\n", prefix, name,
			describeType(field, slices.Contains(schema.Required, name)), oneLine(field.Description))
		switch items := itemsOf(field); {
		case items == nil && kubernetesType(field) == "":
			writeFields(page, prefix+name+".", field)
		case items != nil && kubernetesType(*items) == "":
			writeFields(page, prefix+name+"[].", *items)
		}
	}
}

// describeType returns the type of a field, whether it is required, its default and bounds.
func describeType(field apiextensionsv1.JSONSchemaProps, required bool) string {
	parts := []string{typeOf(field)}
	if required {
		parts = append(parts, "required")
	}
	if field.Default != nil {
		parts = append(parts, "default `"+strings.Trim(string(field.Default.Raw), `"`)+"`")
	}
	if field.Minimum != nil {
		parts = append(parts, "at least "+number(*field.Minimum))
	}
	if field.Maximum != nil {
		parts = append(parts, "at most "+number(*field.Maximum))
	}
	for _, value := range field.Enum {
		parts = append(parts, "`"+strings.Trim(string(value.Raw), `"`)+"`")
	}
	return strings.ReplaceAll(strings.Join(parts, ", "), "|", `\|`)
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// typeOf returns the name of the type of a field.
func typeOf(field apiextensionsv1.JSONSchemaProps) string {
	if name := kubernetesType(field); name != "" {
		return name
	}
	switch items := itemsOf(field); {
	case items != nil:
		return "list of " + typeOf(*items)
	case field.XIntOrString && field.Pattern != "":
		return "quantity"
	case field.XIntOrString:
		return "integer or string"
	case field.Format == "date-time":
		return "time"
	case field.AdditionalProperties != nil && field.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(*field.AdditionalProperties.Schema)
	}
	return field.Type
}

// itemsOf returns the schema of the items of a list, or nil if a field is no list.
func itemsOf(field apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if field.Items == nil {
		return nil
	}
	return field.Items.Schema
}

// oneLine returns a description for a cell of a table.
func oneLine(description string) string {
	return strings.ReplaceAll(joinLines(description), "|", `\|`)
}
