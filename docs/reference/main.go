// Command reference prints the reference of the kinds, in Markdown, from their
// CustomResourceDefinitions.
package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"example.com/gatehouse/apis/crds"
)

func main() {
	fmt.Print("# Reference\n\nGenerated from the CustomResourceDefinitions; `kubectl explain` says the same.\n")
	files, err := fs.Glob(crds.Files, "*.yaml")
	for i := 0; i < len(files) && err == nil; i++ {
		err = printKind(files[i])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func printKind(file string) error {
	content, err := crds.Files.ReadFile(file)
	if err != nil {
		return err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(content, &crd); err != nil {
		return err
	}
	for _, version := range crd.Spec.Versions {
		schema := version.Schema.OpenAPIV3Schema
		fmt.Printf("\n## %s\n\n`%s/%s`, short name `%s`. %s\n", crd.Spec.Names.Kind, crd.Spec.Group, version.Name,
			strings.Join(crd.Spec.Names.ShortNames, "`, `"), oneLine(schema.Description))
		for _, part := range []string{"spec", "status"} {
			fmt.Printf("\n| %s | | |\n| --- | --- | --- |\n", part)
			printFields("", schema.Properties[part])
		}
	}
	return nil
}

// own are the structs that are this project's: those of Kubernetes are named, not
// listed.
var own = map[string]bool{"exporter": true, "run": true}

func printFields(prefix string, schema apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		field := schema.Properties[name]
		fmt.Printf("| `%s%s` | %s | %s |\n", prefix, name, shape(name, field, slices.Contains(schema.Required, name)), oneLine(field.Description))
		if own[name] {
			printFields(prefix+name+".", field)
		}
	}
}

// shape is the type of a field, whether it must be there, its default and bounds.
func shape(name string, field apiextensionsv1.JSONSchemaProps, required bool) string {
	parts := []string{typeOf(name, field)}
	if required {
		parts = append(parts, "required")
	}
	if field.Default != nil {
		parts = append(parts, "default `"+strings.Trim(string(field.Default.Raw), `"`)+"`")
	}
	if field.Minimum != nil {
		parts = append(parts, fmt.Sprintf("at least %.0f", *field.Minimum))
	}
	if field.Maximum != nil {
		parts = append(parts, fmt.Sprintf("at most %.0f", *field.Maximum))
	}
	for _, value := range field.Enum {
		parts = append(parts, "`"+strings.Trim(string(value.Raw), `"`)+"`")
	}
	return strings.Join(parts, ", ")
}

func typeOf(name string, field apiextensionsv1.JSONSchemaProps) string {
	kubernetes := map[string]string{"resources": "ResourceRequirements", "env": "list of EnvVar", "envFrom": "list of EnvFromSource", "conditions": "list of Condition"}
	switch {
	case kubernetes[name] != "":
		return kubernetes[name]
	case field.XIntOrString:
		return "quantity"
	case field.Format == "date-time":
		return "time"
	case field.Items != nil:
		return "list of " + field.Items.Schema.Type
	}
	return field.Type
}

func oneLine(description string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(description), " "), "|", `\|`)
}
