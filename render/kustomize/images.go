package kustomize

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/filters/imagetag"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// SetImages sets the images that built objects leave to their defaults, if `images:` of a kustomization
// on their build paths changes these defaults: kustomize itself changes only images in source files.
// DefaultOf returns the default of a field of a kind, or "".
func SetImages(paths *Paths, objects []manifest.Object, defaultOf func(kind schema.GroupKind, field []string) string) {
	for i, o := range objects {
		kind := o.GroupVersionKind().GroupKind()
		for _, spec := range paths.Sources.ImageFields() {
			if spec.Group != kind.Group || spec.Kind != kind.Kind {
				continue
			}
			field := strings.Split(spec.Path, "/")
			_, isSet, _ := unstructured.NestedFieldNoCopy(o.Object, field...)
			_, hasParent, _ := unstructured.NestedFieldNoCopy(o.Object, field[:len(field)-1]...)
			if isSet || !hasParent && len(field) > 2 { // as in a Memcached without an exporter
				continue
			}
			image := defaultOf(kind, field)
			if changed := changeDefault(paths, o, image); changed != image {
				o = o.Copy()
				objects[i] = o
				// the verdict reports a parent of another type
				_ = unstructured.SetNestedField(o.Object, changed, field...)
			}
		}
	}
}

// changeDefault applies `images:` of the kustomizations on an object's build path to an image. If the
// path is unknown, it applies the environment's own kustomization.
func changeDefault(paths *Paths, o manifest.Object, image string) string {
	folders := []string{paths.Folder}
	if path := paths.Find(o); path != nil {
		folders = path.Folders
	}
	for _, folder := range folders {
		for _, entry := range paths.Sources.Kustomizations[folder].Images {
			image = changeImage(image, entry)
		}
	}
	return image
}

func changeImage(image string, entry types.Image) string {
	node := kyaml.NewMapRNode(&map[string]string{"image": image})
	filter := imagetag.Filter{ImageTag: entry, FsSlice: types.FsSlice{{Path: "image"}}}
	if _, err := filter.Filter([]*kyaml.RNode{node}); err == nil {
		image, _ = node.GetString("image")
	}
	return image
}

// unmatchedImages warns of entries of images: that no image of the built and rendered objects shows.
// kustomize ignores such entries. Kustomizations outside of the environment's folder may have entries
// for other environments.
func unmatchedImages(paths *Paths, objects []manifest.Object) (warnings []manifest.Problem) {
	var entries []types.Image
	for _, k := range paths.Sources.Kustomizations {
		entries = append(entries, k.Images...)
	}
	if len(entries) == 0 {
		return nil
	}
	images := imagesIn(paths, objects)
	sources := sync.OnceValue(func() []string { return sourceImages(paths, images) })
	isShown := func(e types.Image) bool {
		shows := func(image string) bool { return showsEntry(image, e) }
		makes := func(source string) bool {
			image := changeImage(source, e)
			return image != source && slices.Contains(images, image)
		}
		return slices.ContainsFunc(images, shows) || makes(e.Name) || slices.ContainsFunc(sources(), makes)
	}
	for _, folder := range slices.Sorted(maps.Keys(paths.Sources.Kustomizations)) {
		if !source.IsWithin(folder, paths.Folder) {
			continue
		}
		k := paths.Sources.Kustomizations[folder]
		for i, entry := range k.Images {
			isChangedBy := func(other types.Image) bool {
				return matchesImage(other.Name, changeImage(entry.Name, entry)) && isShown(other)
			}
			if isShown(entry) || slices.ContainsFunc(entries, isChangedBy) {
				continue
			}
			line := paths.Sources.Line(k.File, "images", strconv.Itoa(i), "name")
			warnings = append(warnings, idleWarning(k.File, line, fmt.Sprintf("images[%d].name", i),
				"no object here has image "+entry.Name+": write the name of one, or remove the entry"))
		}
	}
	return warnings
}

func imagesIn(paths *Paths, objects []manifest.Object) []string {
	fields := []string{"image", "reference"} // of containers and of volumes
	for _, k := range paths.Loaded {
		for _, entry := range k.Configurations {
			if c, err := paths.Sources.ReadConfiguration(k.Paths[entry]); err == nil {
				for _, spec := range c.Images {
					fields = append(fields, path.Base(spec.Path))
				}
			}
		}
	}
	images := map[string]bool{}
	for _, o := range objects {
		for field, value := range manifest.Values(o.Object) {
			if image, isText := value.(string); isText && slices.Contains(fields, field) {
				images[image] = true
			}
		}
	}
	return slices.Collect(maps.Keys(images))
}

// sourceImages returns the texts in source objects with the name of an image: an entry may change it by its tag.
func sourceImages(paths *Paths, images []string) []string {
	names := map[string]bool{}
	for _, image := range images {
		names[nameOf(image)] = true
	}
	found := map[string]bool{}
	for _, p := range paths.All {
		for text := range p.Document.Values() {
			if names[nameOf(text)] {
				found[text] = true
			}
		}
	}
	return slices.Collect(maps.Keys(found))
}

func nameOf(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
		name = name[:colon]
	}
	return name
}

// showsEntry reports whether an image has the new name of an entry, or its name, tag and digest.
func showsEntry(image string, entry types.Image) bool {
	if entry.NewName != "" {
		return matchesImage(entry.NewName, image)
	}
	entry.TagSuffix = ""
	return matchesImage(entry.Name, image) && changeImage(image, entry) == image
}

// matchesImage reports whether an entry of images: with a name changes an image.
func matchesImage(name, image string) bool {
	return changeImage(image, types.Image{Name: name, NewName: "gatehouse.example.com/other", NewTag: "x"}) != image
}
