// Package flux substitutes variables in objects as a Kustomization of Flux with spec.postBuild does.
package flux

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/manifest"
)

// Annotation is on the kustomization of an environment if Flux substitutes variables there. Its value
// is a file of ConfigMaps with the values, or Unknown.
const Annotation = "gatehouse.example.com/substitute"

// Unknown is the value of the annotation if only the cluster has the values.
const Unknown = "unknown"

// Switch keeps Flux from substituting variables in an object if it is Off, as a label or an annotation.
const (
	Switch = "kustomize.toolkit.fluxcd.io/substitute"
	Off    = "disabled"
)

// PostBuild has the values of the variables that Flux substitutes in the objects of an environment.
type PostBuild struct {
	// Values are nil if only the cluster has them.
	Values map[string]string
	// ConfigMaps are the names of the ConfigMaps with the values.
	ConfigMaps []string
	// Always reports whether Flux substitutes defaults where there are no values (spec.postBuild.substituteStrategy).
	Always bool
	// In says where the values are written; empty for the file that Annotation names.
	In string
	// Unset is how Flux treats a variable without a value.
	Unset Unset

	joined map[string]bool // the names of values with several lines
}

// Place says where to write a value.
func (b *PostBuild) Place() string { return cmp.Or(b.In, "the file that "+Annotation+" names") }

// Add adds values over the others, as Flux reads them: without the ends of their lines (kustomize/kustomize_varsub.go
// of fluxcd/pkg).
func (b *PostBuild) Add(values map[string]string) {
	for name, value := range values {
		b.Values[name] = strings.ReplaceAll(value, "\n", "")
		if b.joined == nil {
			b.joined = map[string]bool{}
		}
		b.joined[name] = strings.Contains(strings.TrimSpace(value), "\n")
	}
}

// variableName matches the names that Flux allows.
var variableName = regexp.MustCompile("^[_[:alpha:]][_[:alpha:][:digit:]]*$")

// IsName reports whether Flux allows the name of a value. It refuses all objects with any other, used or not.
func IsName(name string) bool { return variableName.MatchString(name) }

// errNoValues is the error of a file with other objects than ConfigMaps.
var errNoValues = errors.New("has more than ConfigMaps with metadata.name and text in data, from which Flux reads " +
	"values: write nothing else")

// Read reads the values from the documents of a file.
func Read(documents [][]byte) (*PostBuild, error) {
	b := &PostBuild{Values: map[string]string{}}
	isEncrypted := false
	for _, document := range documents {
		var o struct {
			Kind     string
			Metadata struct{ Name string }
			Data     map[string]text
			SOPS     yaml.Node `yaml:"sops"`
		}
		if err := yaml.Unmarshal(document, &o); err != nil || o.Kind != "ConfigMap" || o.Metadata.Name == "" {
			return nil, errNoValues
		}
		b.ConfigMaps = append(b.ConfigMaps, o.Metadata.Name)
		isEncrypted = isEncrypted || !o.SOPS.IsZero()
		for name, value := range o.Data {
			b.Add(map[string]string{name: string(value)})
		}
	}
	for name := range b.Values {
		if !IsName(name) {
			return nil,
				fmt.Errorf("has the variable %q, and Flux refuses this name: write letters, digits and underscores",
					name)
		}
	}
	if isEncrypted { // by SOPS: only the cluster has the values
		b.Values = nil
	}
	return b, nil
}

// text is a value of a ConfigMap. By YAML 1.2, as kustomize and the API server read it, N and yes are texts, too.
type text string

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *text) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!str" {
		return errNoValues
	}
	*t = text(node.Value)
	return nil
}

// Substitutes reports whether Flux may change an object. By default it substitutes nothing without any value
// (substituteStrategy in api/v1 of kustomize-controller).
func (b *PostBuild) Substitutes(o manifest.Object) bool {
	hasValues := b != nil && (b.Values == nil || len(b.Values) > 0 || b.Always)
	return hasValues && o.GetAnnotations()[Switch] != Off && o.GetLabels()[Switch] != Off && mayChange(o)
}

// Applied returns objects as Flux applies them. An object with a substitution that fails stays as it is.
func (b *PostBuild) Applied(objects []manifest.Object) []manifest.Object {
	applied := make([]manifest.Object, len(objects))
	for i, r := range b.Substitute(objects, nil) {
		applied[i] = r.Object
		if r.Unstructured != objects[i].Unstructured {
			applied[i].InGit = &objects[i]
		}
	}
	return applied
}

// Protect returns an object that Flux leaves as it is.
func Protect(o manifest.Object) manifest.Object {
	if !mayChange(o) {
		return o
	}
	o = o.Copy()
	delivery.AddEntries(o.GetAnnotations, o.SetAnnotations, map[string]string{Switch: Off})
	return o
}

// mayChange reports whether an object has a variable, or $$, which stands for $.
func mayChange(o manifest.Object) bool {
	return contains(o.Object, func(text string) bool {
		return strings.Contains(text, "${") || strings.Contains(text, "$$")
	})
}

// HasVariables reports whether a text or a key in content may have a variable.
func HasVariables(content any) bool {
	return contains(content, func(text string) bool { return strings.Contains(text, "${") })
}

// contains reports whether a text or a key in content matches.
func contains(content any, matches func(string) bool) bool {
	return manifest.Contains(content, func(key string, value any) bool {
		text, _ := value.(string)
		return matches(key) || matches(text)
	})
}

var variable = regexp.MustCompile(`\$\{#?([_[:alpha:]][_[:alpha:][:digit:]]*)`)

// Variables returns the names of the variables in an object, in order.
func (b *PostBuild) Variables(o manifest.Object) []string {
	if !b.Substitutes(o) {
		return nil
	}
	return VariablesIn(o.Object)
}

// VariablesIn returns the names of the variables in the texts and keys of content, in order.
func VariablesIn(content any) []string {
	names := map[string]bool{}
	contains(content, func(text string) bool {
		for _, match := range variable.FindAllStringSubmatch(text, -1) {
			names[match[1]] = true
		}
		return false
	})
	return slices.Sorted(maps.Keys(names))
}
