package kustomize

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/filters/imagetag"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"example.com/gatehouse/render/manifest"
)

// SetImages sets the images that built objects leave to their defaults, where `images:` of the
// kustomizations on their way change these: kustomize changes only what is written. DefaultOf
// returns the default of a field of a kind, empty where it has none.
func (w *Ways) SetImages(objects []manifest.Object, defaultOf func(kind schema.GroupKind, field []string) string) {
	for i, o := range objects {
		kind := o.GroupVersionKind().GroupKind()
		for _, spec := range w.sources.ImageFields() {
			if spec.Group != kind.Group || spec.Kind != kind.Kind {
				continue
			}
			field := strings.Split(spec.Path, "/")
			_, isSet, _ := unstructured.NestedFieldNoCopy(o.Object, field...)
			_, hasParent, _ := unstructured.NestedFieldNoCopy(o.Object, field[:len(field)-1]...)
			if isSet || !hasParent && len(field) > 2 { // as where a Memcached has no exporter
				continue
			}
			image := defaultOf(kind, field)
			if changed := w.changedImage(o, image); changed != image {
				o = o.Copy()
				objects[i] = o
				_ = unstructured.SetNestedField(o.Object, changed, field...) // the verdict says where a parent is no mapping
			}
		}
	}
}

// changedImage returns what the kustomizations on the way of an object make of an image; if the way
// is not known, what the outermost does.
func (w *Ways) changedImage(o manifest.Object, image string) string {
	folders := []string{w.folder}
	if way := w.Find(o); way != nil {
		folders = way.Folders
	}
	for _, folder := range folders {
		for _, change := range w.sources.Kustomizations[folder].Images {
			image = changeImage(image, change)
		}
	}
	return image
}

// changeImage returns what an entry of images: makes of an image.
func changeImage(image string, change types.Image) string {
	node := kyaml.NewMapRNode(&map[string]string{"image": image})
	filter := imagetag.Filter{ImageTag: change, FsSlice: types.FsSlice{{Path: "image"}}}
	if _, err := filter.Filter([]*kyaml.RNode{node}); err == nil {
		image, _ = node.GetString("image")
	}
	return image
}
