// Package images lists the images that the objects of environments run or mount, before and after a change.
package images

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
)

// Image is an image with the places that name it.
type Image struct {
	Image string `json:"image"`
	// IsOld and IsNew say that only places before the change name it, or only places after it.
	IsOld bool    `json:"isOld,omitempty"`
	IsNew bool    `json:"isNew,omitempty"`
	Used  []Place `json:"used"`
}

// Place is a field that names an image, after the change, or before it for an image that nothing names any more.
type Place struct {
	Environment string      `json:"environment"`
	Object      manifest.ID `json:"object"`
	Field       string      `json:"field"`
}

// List returns the images of the environments of a comparison, by name. Source objects and releases are left out:
// the objects that they are rendered to or install name their images.
func List(d *compare.Diff) []Image {
	before, after := map[string][]Place{}, map[string][]Place{}
	for _, e := range d.Environments {
		add := func(to map[string][]Place, o *unstructured.Unstructured) {
			for field, image := range fieldsOf(e.Kinds, o) {
				to[image] = append(to[image], Place{e.Name, manifest.Object{Unstructured: o}.ID(), field})
			}
		}
		for _, o := range e.Unchanged {
			add(before, o)
			add(after, o)
		}
		for _, c := range e.Changes {
			add(before, c.Before)
			add(after, c.After)
		}
	}
	names := slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after)))
	slices.Sort(names)
	names = slices.Compact(names)
	all := make([]Image, 0, len(names))
	for _, name := range names {
		image := Image{name, len(after[name]) == 0, len(before[name]) == 0, after[name]}
		if image.IsOld {
			image.Used = before[name]
		}
		slices.SortFunc(image.Used, func(a, b Place) int { return strings.Compare(a.String(), b.String()) })
		all = append(all, image)
	}
	return all
}

func (p Place) String() string { return fmt.Sprintf("%s %s: %s", p.Environment, p.Object, p.Field) }

// fieldsOf returns the images of an object by their fields: those that are called image, and image volumes.
func fieldsOf(kinds *registry.Kinds, o *unstructured.Unstructured) map[string]string {
	if o == nil || kinds.Find(o.GroupVersionKind()) != nil {
		return nil
	}
	switch o.GetKind() {
	case "Application", "ApplicationSet", "ConfigMap", "CustomResourceDefinition", "HelmRelease", "Kustomization",
		"Secret":
		return nil
	}
	found := map[string]string{}
	for _, f := range (compare.Change{After: o}).Fields() {
		isImage := strings.HasSuffix(f.Path, ".image") || strings.HasSuffix(f.Path, ".image.reference")
		if isImage && f.After != nil && *f.After != "" && !strings.HasPrefix(*f.After, "{") {
			found[f.Path] = *f.After
		}
	}
	return found
}
