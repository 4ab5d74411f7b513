package render

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/verdict"
)

// built is what kustomize makes of an environment.
type built struct {
	objects []manifest.Object
	// ways say how objects got into it.
	ways *kustomize.Ways
	// local are the CustomResourceDefinitions that something else brings to the cluster.
	local []manifest.Object
	// checker judges by the CustomResourceDefinitions of both, and
	checker *verdict.Checker
	// invalid is what is wrong with these.
	invalid []manifest.Problem
}

// build builds the environment.
func (e *environment) build() (built, []manifest.Problem) {
	checker, _ := verdict.New(e.kinds, nil)
	images := e.defaultImages(checker)
	b, problems := e.buildWith(images)
	// Its own definitions may say another default image, which `images:` has to match.
	if own := e.defaultImages(b.checker); !manifest.HasErrors(problems) && !reflect.DeepEqual(own, images) {
		b, problems = e.buildWith(own)
	}
	return b, problems
}

// buildWith builds the environment as if each object that leaves an image to its default had
// written it, so that `images:` sees it.
func (e *environment) buildWith(images []source.DefaultImage) (b built, problems []manifest.Problem) {
	e.sources.FillImages(images)
	b.ways = kustomize.FindWays(e.sources, e.folder)
	all, problems := b.ways.Build()
	for _, o := range all {
		for _, image := range images {
			image.Restore(o.Unstructured)
		}
	}
	for _, o := range all {
		if !keepLocalConfig(o) {
			b.objects = append(b.objects, o)
		} else if o.GetKind() == "CustomResourceDefinition" {
			b.local = append(b.local, o)
		}
	}
	b.checker, b.invalid = verdict.New(e.kinds, slices.Concat(b.objects, b.local))
	return b, problems
}

// keepLocalConfig reports whether an object is local config, and otherwise gives the annotation
// its own name back.
func keepLocalConfig(o manifest.Object) bool {
	annotations := o.GetAnnotations()
	value, ok := annotations[keptConfig]
	if !ok {
		return false
	}
	if value != "false" {
		return true
	}
	delete(annotations, keptConfig)
	annotations[localConfig] = value
	o.SetAnnotations(annotations)
	return false
}

// defaultImages returns the images that objects have where they say nothing else.
func (e *environment) defaultImages(checker *verdict.Checker) (images []source.DefaultImage) {
	for _, field := range e.sources.ImageFields() {
		keys := strings.Split(field.Path, "/")
		if image := checker.Default(schema.GroupKind{Group: field.Group, Kind: field.Kind}, keys); image != "" {
			images = append(images, source.DefaultImage{Group: field.Group, Kind: field.Kind, Field: keys, Image: image})
		}
	}
	return images
}

// judge returns the objects as the API server would store them, with defaults, and what is
// wrong with them.
func (e *environment) judge(b built) (stored []manifest.Object, problems []manifest.Problem) {
	stored, problems = b.checker.Objects(b.objects)
	problems = slices.Concat(b.invalid, problems, e.duplicates(b.checker, b.objects))
	for _, kind := range e.kinds.All {
		if kind.TimeField != "" {
			problems = append(problems, e.sources.TimeProblems(kind.GVK.Group, kind.GVK.Kind, kind.TimeField)...)
		}
	}
	return stored, append(problems, e.inexact(b.objects)...)
}

// inexact returns the problems of values that cannot be kept as they are written: where people
// wrote them or, where kustomize made them, in the objects.
func (e *environment) inexact(objects []manifest.Object) []manifest.Problem {
	problems, known := e.sources.NumberProblems(), map[string]bool{}
	for _, p := range problems {
		known[p.Position()] = true
	}
	for _, o := range objects {
		for _, p := range o.Inexact {
			if p = e.locate(p); !known[p.Position()] {
				problems = append(problems, p)
			}
		}
	}
	return problems
}
