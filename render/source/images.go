package source

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/parallel"
)

// `images:` of a kustomization changes the image that is written in an object, so it
// would not reach one that a spec leaves to its default. FillImages therefore writes
// such defaults into what kustomize builds, and Restore takes them out again where no
// kustomization has changed them.

// DefaultImage is the image that objects of a kind have in a field where they say
// nothing else.
type DefaultImage struct {
	Group, Kind string
	Field       []string
	Image       string
}

// filled marks an image that was filled in. kustomize takes it for a part of the tag,
// which no image has.
const filled = "{default}"

// FillImages writes images that objects leave to their defaults into the manifests, as
// far as kustomizations have images of their names. It may be called again with others.
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

// fillImages writes images into the text and says whether that changed it.
func (t *Text) fillImages(defaults []DefaultImage) bool {
	before := t.Content
	if t.unfilled != nil {
		t.Content, t.unfilled = t.unfilled, nil
	}
	if !slices.ContainsFunc(t.Objects, func(o Document) bool { return slices.ContainsFunc(defaults, o.mayLack) }) {
		return !bytes.Equal(before, t.Content)
	}
	root, _, err := piece{content: t.Content}.parse()
	if err != nil { // it was well-formed before
		return false
	}
	if node := fillImages(root, defaults); node != root {
		if filled, err := yaml.Marshal(node); err == nil {
			t.Content, t.unfilled = filled, t.Content
		}
	}
	return !bytes.Equal(before, t.Content)
}

func (d Document) mayLack(image DefaultImage) bool {
	return d.Kind == image.Kind && d.Group == image.Group
}

// changesImage says whether a kustomization has an image of the name of this one, by
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

// fillImages returns an object, or a list of objects, with the images that it leaves to
// their defaults. It leaves the node as it is.
func fillImages(node *yaml.Node, defaults []DefaultImage) *yaml.Node {
	if _, items := writtenEntry(node, "items"); items != nil && items.Kind == yaml.SequenceNode && strings.HasSuffix(textAt(node, "kind"), "List") {
		list := *items
		list.Content = slices.Clone(items.Content)
		for i, item := range items.Content {
			list.Content[i] = fillImages(item, defaults)
		}
		if slices.Equal(list.Content, items.Content) {
			return node
		}
		return withEntry(node, "items", &list)
	}
	for _, d := range defaults {
		if textAt(node, "kind") == d.Kind && object.Group(textAt(node, "apiVersion")) == d.Group {
			node = fillImage(node, d.Field, d.Image)
		}
	}
	return node
}

// fillImage returns a mapping with an image at a field, unless there is one.
func fillImage(mapping *yaml.Node, field []string, image string) *yaml.Node {
	_, value := writtenEntry(mapping, field[0])
	if merge, _ := mappingEntry(mapping, "<<"); merge != nil {
		return mapping // it may have the field from there
	}
	switch {
	case len(field) > 1 && value == nil && field[0] == "spec":
		value = &yaml.Node{Kind: yaml.MappingNode}
	case value == nil && len(field) == 1:
		return withEntry(mapping, field[0], &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: mark(image)})
	}
	if value != nil && value.Kind == yaml.AliasNode {
		alias := *value.Alias
		alias.Anchor = ""
		value = &alias
	}
	if len(field) == 1 || value == nil || value.Kind != yaml.MappingNode {
		return mapping
	}
	changed := fillImage(value, field[1:], image)
	if changed == value {
		return mapping
	}
	return withEntry(mapping, field[0], changed)
}

// withEntry returns a copy of a mapping that has a value at a key.
func withEntry(mapping *yaml.Node, key string, value *yaml.Node) *yaml.Node {
	with := *mapping
	with.Content = slices.Clone(mapping.Content)
	for i := 0; i+1 < len(with.Content); i += 2 {
		if with.Content[i].Value == key {
			with.Content[i+1] = value
			return &with
		}
	}
	with.Content = append(with.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
	return &with
}

func mark(image string) string {
	if !strings.ContainsAny(image[strings.LastIndex(image, "/")+1:], ":@") {
		image += ":"
	}
	return image + filled
}

// Restore takes from a built object an image that FillImages filled in, if no
// kustomization has changed it, and the mark of it if one has.
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
