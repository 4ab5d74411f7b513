package main

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// documented is a type of Kubernetes.
type documented struct {
	name   string
	fields map[string]string // the description of each
}

// kubernetesType returns the name of the Kubernetes type whose field descriptions match a schema, or
// nothing.
func kubernetesType(schema apiextensionsv1.JSONSchemaProps) string {
	if len(schema.Properties) == 0 {
		return ""
	}
	for _, t := range kubernetesTypes() {
		same := true
		for name, property := range schema.Properties {
			same = same && property.Description != "" && t.fields[name] == joinLines(property.Description)
		}
		if same {
			return t.name
		}
	}
	return ""
}

// kubernetesTypes returns all structs of Kubernetes' APIs, those with the fewest fields first.
var kubernetesTypes = sync.OnceValue(func() (types []documented) {
	seen := map[reflect.Type]bool{}
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(t.Elem())
		case reflect.Struct:
			if seen[t] {
				return
			}
			seen[t] = true
			if d, ok := reflect.Zero(t).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
				fields := map[string]string{}
				for name, description := range d.SwaggerDoc() {
					fields[name] = joinLines(description)
				}
				types = append(types, documented{t.Name(), fields})
			}
			for i := range t.NumField() {
				visit(t.Field(i).Type)
			}
		}
	}
	for _, t := range scheme.Scheme.AllKnownTypes() {
		visit(t)
	}
	slices.SortFunc(types, func(a, b documented) int {
		return cmp.Or(cmp.Compare(len(a.fields), len(b.fields)), strings.Compare(a.name, b.name))
	})
	return types
})

// joinLines returns a text without its line breaks.
func joinLines(text string) string { return strings.Join(strings.Fields(text), " ") }
