package kustomize

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// UnmatchedImages warns of entries of images: that change nothing, which kustomize ignores: no object
// that comes through their kustomization has such an image, as it is written, patched or renamed by
// another entry, or by default. The overrides are those in a folder, empty where there are none.
func (w *Ways) UnmatchedImages(overrides string, built, rendered []manifest.Object, defaultOf func(kind schema.GroupKind, field []string) string) (warnings []manifest.Problem) {
	all := w.sources.Kustomizations
	newNames, isAny := newImageNames(all)
	if !isAny {
		return nil
	}
	specs, isImage := w.imageSpecs(), imageMatcher()
	var shared []string
	for _, k := range all {
		shared = append(shared, w.patchedImages(k)...)
	}
	if slices.ContainsFunc(slices.Collect(maps.Values(all)), makesAny) {
		shared = append(shared, builtImages(built, specs)...)
	}
	slices.Sort(shared)
	shared = slices.Compact(shared)
	for _, folder := range slices.Sorted(maps.Keys(all)) {
		k := all[folder]
		if len(k.Images) == 0 || k.Kind == types.ComponentKind && !isBelow(folder, w.folder) {
			continue
		}
		found := slices.Concat(shared, w.writtenImages(folder, specs, defaultOf))
		if overrides != "" && isBelow(folder, overrides) {
			found = slices.Concat(shared, builtImages(rendered, specs))
		}
		for i, entry := range k.Images {
			isRenamed := func(name string) bool {
				return (newNames[name] > 1 || name != entry.NewName) && isImage(name, entry.Name)
			}
			if slices.ContainsFunc(slices.Collect(maps.Keys(newNames)), isRenamed) || slices.ContainsFunc(found, func(image string) bool { return isImage(image, entry.Name) }) {
				continue
			}
			field := fmt.Sprintf("images[%d].name", i)
			warnings = append(warnings, manifest.Problem{
				File:    source.Relative(k.File),
				Line:    w.sources.Line(k.File, "images", strconv.Itoa(i), "name"),
				Field:   field,
				Message: field + ": no object here has image " + entry.Name + ": write the name of one without its tag, or remove the entry",
				Warning: true,
			})
		}
	}
	return warnings
}

// makesAny reports whether a kustomization may give objects images that are written nowhere.
func makesAny(k *source.Kustomization) bool {
	return len(k.Replacements)+len(k.Vars)+len(k.Transformers)+len(k.Generators) > 0
}

// imageMatcher returns a function that reports whether an entry of images: with a name changes an image.
// It asks kustomize once for each pair, as many objects have one image.
func imageMatcher() func(image, name string) bool {
	const other = "gatehouse.example.com/other"
	known := map[[2]string]bool{}
	return func(image, name string) bool {
		pair := [2]string{image, name}
		is, isKnown := known[pair]
		if !isKnown {
			is = changeImage(image, types.Image{Name: name, NewName: other, NewTag: "x"}) != image
			known[pair] = is
		}
		return is
	}
}

// newImageNames returns the names that entries of images: give images, each with how many entries do, and
// whether there are any entries.
func newImageNames(all map[string]*source.Kustomization) (names map[string]int, isAny bool) {
	names = map[string]int{}
	for _, k := range all {
		for _, entry := range k.Images {
			isAny = true
			if entry.NewName != "" {
				names[entry.NewName]++
			}
		}
	}
	return names, isAny
}

// writtenImages returns the images of the objects that come through a folder, as they are written, and
// the defaults of those that leave theirs out.
func (w *Ways) writtenImages(folder string, specs []types.FieldSpec, defaultOf func(kind schema.GroupKind, field []string) string) (images []string) {
	for _, way := range w.All {
		if !slices.Contains(way.Folders, folder) {
			continue
		}
		var content any
		if way.IsGenerated || way.Document.Node.Decode(&content) != nil {
			continue
		}
		images = append(images, imagesIn(content, way.gvk, specs)...)
		for _, spec := range w.sources.ImageFields() {
			if way.gvk.IsSelected(&spec.Gvk) {
				images = append(images, defaultOf(schema.GroupKind{Group: spec.Group, Kind: spec.Kind}, strings.Split(spec.Path, "/")))
			}
		}
	}
	return images
}

// builtImages returns the images of built objects.
func builtImages(objects []manifest.Object, specs []types.FieldSpec) (images []string) {
	for _, o := range objects {
		images = append(images, imagesIn(o.Object, gvkOf(o.GroupVersionKind()), specs)...)
	}
	return images
}

// patchedImages returns the images that the patches of a kustomization may give objects.
func (w *Ways) patchedImages(k *source.Kustomization) (images []string) {
	names := []string{"image", "reference"}
	for _, p := range w.patches[k.Folder] {
		for _, d := range p.documents {
			var content any
			if d.Node.Decode(&content) != nil {
				continue
			}
			for key, value := range manifest.Values(content) {
				if slices.Contains(names, key) {
					images = appendText(images, value)
				}
			}
			for _, operation := range d.Node.Content {
				if node := source.Field(operation, "path"); d.Node.Kind == yaml.SequenceNode && node != nil && slices.Contains(names, path.Base(node.Value)) {
					if value := source.Field(operation, "value"); value != nil {
						images = append(images, value.Value)
					}
				}
			}
		}
	}
	return images
}

// imagesIn returns the images in the content of an object that kustomize changes: of containers
// anywhere, of volumes, and in the fields that a configuration names.
func imagesIn(content any, gvk resid.Gvk, specs []types.FieldSpec) (images []string) {
	var names []string
	for _, spec := range specs {
		if gvk.IsSelected(&spec.Gvk) {
			names = append(names, path.Base(spec.Path))
		}
	}
	for key, value := range manifest.Values(content) {
		if slices.Contains(names, key) {
			images = appendText(images, value)
		}
		if !slices.Contains([]string{"containers", "initContainers", "volumes"}, key) {
			continue
		}
		items, _ := value.([]any)
		for _, item := range items {
			fields, _ := item.(map[string]any)
			images = appendText(images, fields["image"])
			volume, _ := fields["image"].(map[string]any)
			images = appendText(images, volume["reference"])
		}
	}
	return images
}

// imageSpecs returns the fields of images that configurations name.
func (w *Ways) imageSpecs() []types.FieldSpec {
	all := slices.Clone(w.sources.ImageFields())
	for _, k := range w.loaded {
		for _, entry := range ownConfigurations(k) {
			if c, err := w.sources.ReadConfiguration(k.Paths[entry]); err == nil {
				all = append(all, c.Images...)
			}
		}
	}
	return all
}

func appendText(texts []string, value any) []string {
	if text, ok := value.(string); ok {
		return append(texts, text)
	}
	return texts
}
