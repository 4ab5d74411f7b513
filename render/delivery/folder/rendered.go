package folder

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/delivery"
	"example.com/gatehouse/render/delivery/flux"
	"example.com/gatehouse/render/manifest"
)

// The fields of a Kustomization of Flux, and of kustomize in a source of an Application, that rendered objects show.
var (
	shownByFlux = strings.Fields("buildMetadata commonMetadata components ignoreMissingComponents images namePrefix " +
		"nameSuffix patches targetNamespace")
	shownByArgo = strings.Fields("components ignoreMissingComponents images namePrefix nameSuffix namespace patches " +
		"replicas")
)

// shown returns the mapping of a delivery with the path, and the mapping with the fields that rendered objects show.
func (p Place) shown(o manifest.Object) (at, fields map[string]any) {
	spec, _ := o.Object["spec"].(map[string]any)
	if p.IsFlux {
		return spec, spec
	}
	at, _ = decoding.At(o.Object, manifest.SplitField(p.Application.Field)).(map[string]any)
	fields, _ = at["kustomize"].(map[string]any)
	return at, fields
}

// PointTo makes a delivery point to a folder with its rendered objects, without the fields that these show.
func (p Place) PointTo(o manifest.Object, rendered string) {
	at, fields := p.shown(o)
	names := shownByArgo
	if p.IsFlux {
		rendered = "./" + rendered
		names = shownByFlux
	}
	at["path"] = rendered
	for _, name := range names {
		delete(fields, name)
	}
	if p.IsFlux {
		return
	}
	delete(at, "directory") // Argo CD would not read the index
	if len(fields) == 0 {
		delete(at, "kustomize")
	}
}

// Unsure returns the reason why the value of a field that rendered objects would show is unknown, or nothing.
// HasUnknown reports whether Flux substitutes variables of unknown values in the object.
func (p Place) Unsure(hasUnknown bool) string {
	_, fields := p.shown(p.InCluster)
	for _, name := range slices.Concat(shownByFlux, shownByArgo) {
		switch value := fields[name]; {
		case value == nil:
		case hasUnknown && flux.HasVariables(value):
			return name + " has variables of unknown values"
		case name == "commonMetadata" && (flux.HasVariables(value) || strings.Contains(fmt.Sprint(value), flux.Switch)):
			return "commonMetadata has a variable or " + flux.Switch
		case !p.IsFlux && strings.ContainsAny(fmt.Sprint(value), "$*"):
			return name + " has variables of Argo CD"
		}
	}
	return ""
}

// WithoutFolder returns an object that delivers a folder without the path and the fields that rendered objects show,
// and any other object as it is.
func WithoutFolder(o *unstructured.Unstructured) *unstructured.Unstructured {
	isFlux := o.GroupVersionKind().Group == "kustomize.toolkit.fluxcd.io"
	if !isFlux && !delivery.IsApplication(manifest.Object{Unstructured: o}) {
		return o
	}
	o = o.DeepCopy()
	spec, _ := o.Object["spec"].(map[string]any)
	if isFlux {
		withoutFolder(spec, spec, shownByFlux)
		return o
	}
	sources, _ := spec["sources"].([]any)
	for _, s := range append(sources, spec["source"]) {
		source, _ := s.(map[string]any)
		fields, _ := source["kustomize"].(map[string]any)
		withoutFolder(source, fields, shownByArgo)
		delete(source, "directory")
		if len(fields) == 0 {
			delete(source, "kustomize")
		}
	}
	return o
}

func withoutFolder(at, fields map[string]any, shown []string) {
	delete(at, "path")
	for _, name := range shown {
		delete(fields, name)
	}
}
