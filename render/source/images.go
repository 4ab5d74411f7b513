package source

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/parallel"
)

// `images:` of a kustomization changes the image that is written in an object, so it
// would not reach one that a spec leaves to its default. FillImages therefore writes
// such defaults into what kustomize builds, and Restore takes them out again where no
// kustomization has changed them.

// DefaultImage is the image that an object of a kind has in a field that it does not set.
type DefaultImage struct {
	Group, Kind string
	Field       []string
	Image       string
}

// filled marks an image that was filled in. kustomize takes it for a part of the tag. No image
// has such a tag.
const filled = "{default}"

// FillImages writes images that objects leave to their defaults into the manifests, where
// kustomizations change images of these names. It may be called again with other defaults.
func (s *Sources) FillImages(defaults []DefaultImage) {
	defaults = slices.DeleteFunc(slices.Clone(defaults), func(d DefaultImage) bool { return !s.changesImage(d.Image) })
	written := map[string][]byte{}
	for _, m := range s.Manifests {
		changed := make([]bool, len(m.Texts))
		parallel.For(len(m.Texts), func(i int) { changed[i] = m.Texts[i].fillImages(defaults) })
		if slices.Contains(changed, true) {
			written[m.File] = Join(m.Texts)
		}
	}
	s.FS = s.FS.With(written)
}

// fillImages writes images into the text and reports whether that changed it.
func (t *Text) fillImages(defaults []DefaultImage) bool {
	before := t.Content
	t.Content = t.written
	if slices.ContainsFunc(t.Objects, func(o Document) bool { return slices.ContainsFunc(defaults, o.mayLack) }) {
		t.Content = withImages(t.written, defaults)
	}
	return !bytes.Equal(before, t.Content)
}

func (d Document) mayLack(image DefaultImage) bool {
	return d.Kind == image.Kind && d.Group == image.Group
}

// withImages returns a text in which objects have the images that they leave to their defaults.
func withImages(content []byte, defaults []DefaultImage) []byte {
	root, _, err := piece{content: content, first: 1}.parse()
	if err != nil { // it was well-formed before
		return content
	}
	root = expanded(root) // what is an alias in one object is not changed in another
	isFilled := false
	for _, d := range splitDocument("", root, false) {
		for _, image := range defaults {
			isFilled = d.mayLack(image) && fillImage(d.Node, image.Field, image.Image) || isFilled
		}
	}
	if isFilled {
		content, _ = yaml.Marshal(root)
	}
	return content
}

// fillImage writes an image into a field of a mapping, unless it has one, or may have one by
// a merge.
func fillImage(mapping *yaml.Node, field []string, image string) bool {
	if merge, _ := mappingEntry(mapping, "<<"); merge != nil || mapping.Kind != yaml.MappingNode {
		return false
	}
	_, value := mappingEntry(mapping, field[0])
	isLast := len(field) == 1
	switch {
	case value != nil:
		return !isLast && fillImage(value, field[1:], image)
	case isLast:
		value = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: mark(image)}
	case field[0] == "spec":
		value = &yaml.Node{Kind: yaml.MappingNode}
		fillImage(value, field[1:], image)
	default:
		return false
	}
	mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: field[0]}, value)
	return true
}

// changesImage reports whether a kustomization has an image of the name of this one, by
// kustomize's own rule.
func (s *Sources) changesImage(image string) bool {
	for _, k := range s.Kustomizations {
		for _, change := range k.Images {
			if is, err := regexp.MatchString("^"+change.Name+"(:[^/]*|@.*)?$", image); err == nil && is {
				return true
			}
		}
	}
	return false
}

func mark(image string) string {
	if !strings.ContainsAny(image[strings.LastIndex(image, "/")+1:], ":@") {
		image += ":"
	}
	return image + filled
}

// Restore removes from a built object an image that FillImages filled in or, if a
// kustomization has changed the image, its mark.
func (d DefaultImage) Restore(o *unstructured.Unstructured) {
	if o.GetKind() != d.Kind || o.GroupVersionKind().Group != d.Group {
		return
	}
	image, _, _ := unstructured.NestedString(o.Object, d.Field...)
	switch {
	case !strings.Contains(image, filled):
	case image == mark(d.Image):
		unstructured.RemoveNestedField(o.Object, d.Field...)
	default:
		image = strings.Replace(strings.TrimSuffix(image, ":"+filled), filled, "", 1)
		_ = unstructured.SetNestedField(o.Object, image, d.Field...)
	}
}
