package render

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render/delivery/folder"
	"example.com/gatehouse/render/manifest"
)

// makes returns the program that makes objects in the cluster for the objects of some kinds, by an object that defines
// or composes these kinds; nothing for any other object.
func makes(o manifest.Object) (program string, kinds []schema.GroupKind) {
	text := func(keys ...string) string {
		value, _, _ := unstructured.NestedString(o.Object, append([]string{"spec"}, keys...)...)
		return value
	}
	switch manifest.Group(o.GetAPIVersion()) + "/" + o.GetKind() {
	case "kro.run/ResourceGraphDefinition":
		return "kro", []schema.GroupKind{{Group: cmp.Or(text("schema", "group"), "kro.run"),
			Kind: text("schema", "kind")}}
	case "apiextensions.crossplane.io/Composition":
		return "Crossplane", []schema.GroupKind{{Group: manifest.Group(text("compositeTypeRef", "apiVersion")),
			Kind: text("compositeTypeRef", "kind")}}
	case "apiextensions.crossplane.io/CompositeResourceDefinition":
		return "Crossplane", []schema.GroupKind{{Group: text("group"), Kind: text("names", "kind")},
			{Group: text("group"), Kind: text("claimNames", "kind")}}
	}
	return "", nil
}

// nameMade adds a delivery of unknown objects for each object that kro or Crossplane makes others by.
func (d *Delivery) nameMade() {
	programs := map[schema.GroupKind]string{}
	for _, each := range d.open() {
		for _, o := range each.Applied() {
			program, kinds := makes(o)
			for _, kind := range kinds {
				programs[kind] = program
				programs[o.GroupVersionKind().GroupKind()] = program
			}
		}
	}
	if len(programs) == 0 {
		return
	}
	for _, each := range d.open() {
		for _, o := range each.Applied() {
			if program := programs[o.GroupVersionKind().GroupKind()]; program != "" {
				made := &Delivery{Place: folder.Place{Of: o.Own(), InCluster: o}, Parent: each, input: each.input}
				made.unknown(program + " makes its objects")
				each.Children = append(each.Children, made)
			}
		}
	}
}
