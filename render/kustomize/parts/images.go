package parts

import (
	"iter"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/source"
)

// imagesField is the field of a kustomization that changes images everywhere in the build.
const imagesField = "images"

// images are the entries of `images:` that a part may lack. Each changes only images with its name, which kustomize
// takes as a pattern: isImageMatched of api/filters/imagetag.
type images struct {
	byName map[imageName][]imageEntry
	isOne  map[position]bool
}

type imageEntry struct {
	entry   *node
	name    *regexp.Regexp
	newName string
}

// imageName is what a name in `images:` has in common with all images that it matches.
type imageName struct {
	length int
	base   string // after the last slash
}

func nameOf(image string) imageName {
	return imageName{len(image), image[strings.LastIndex(image, "/")+1:]}
}

// plainName matches names with no special character of a pattern but a dot, which matches one character. The part after
// the last slash has none.
var plainName = regexp.MustCompile(`^([A-Za-z0-9._:-]+/)*[A-Za-z0-9_-]+$`)

// noImage matches no image. It stands for entries that a part lacks: with any entry, kustomize refuses an image that is
// no text.
var noImage = types.Image{Name: "a^"}

// findImages links the objects, the patches and the entries of images: themselves with the entries that may change
// their images.
func (d *Division) findImages() {
	d.images = images{map[imageName][]imageEntry{}, map[position]bool{}}
	if d.composesImages() {
		return
	}
	for _, k := range d.paths.Loaded {
		d.images.add(k)
	}
	if len(d.images.isOne) == 0 {
		return
	}
	for _, n := range d.nodes {
		if n.text != nil {
			for _, o := range n.text.Objects {
				d.images.link(n, o.Values())
			}
		}
	}
	for folder := range d.paths.Loaded {
		patches := d.entries[folder].all[len(d.paths.Generators[folder]):]
		for i, p := range d.paths.Patches[folder] {
			for _, document := range p.Documents {
				d.images.link(patches[i], document.Values())
			}
		}
	}
	for _, alike := range d.images.byName {
		for _, e := range alike {
			d.images.link(e.entry, slices.Values([]string{e.newName}))
		}
	}
}

// composesImages reports whether an image may have a value that no source object and no patch has: of a replacement, of
// another field of a kustomization, or of an entry that all parts have.
func (d *Division) composesImages() bool {
	if d.noStandIns || slices.ContainsFunc(d.configurations, movesImages) {
		return true
	}
	for _, k := range d.paths.Loaded {
		if slices.ContainsFunc(k.Images, func(image types.Image) bool {
			return image.NewName != "" && !plainName.MatchString(image.Name)
		}) {
			return true
		}
	}
	return false
}

// movesImages reports whether a configuration has fields of images that other fields of a kustomization set as well.
func movesImages(c source.Configuration) bool {
	return len(c.CommonAnnotations) > 0 || slices.ContainsFunc(c.Images, func(f types.FieldSpec) bool {
		return buildpath.SelectsGenerated(f.Gvk) || hasValue.MatchString(f.Path) || strings.Contains(f.Path, "metadata")
	})
}

// add adds the entries of a kustomization with plain names. All parts have the others.
func (i images) add(k *source.Kustomization) {
	for index, image := range k.Images {
		if !plainName.MatchString(image.Name) {
			continue
		}
		n := &node{position: position{k.File, imagesField, index}}
		n.group = &group{nodes: []*node{n}}
		name, pattern := nameOf(image.Name), regexp.MustCompile("^"+image.Name+"$")
		i.byName[name] = append(i.byName[name], imageEntry{n, pattern, image.NewName})
		i.isOne[n.position] = true
	}
}

// link links a node with the entries that may change one of its values: of a name, which a tag or digest may follow.
func (i images) link(n *node, values iter.Seq[string]) {
	for value := range values {
		for end := range len(value) + 1 {
			if end < len(value) && value[end] != ':' && value[end] != '@' {
				continue
			}
			for _, e := range i.byName[nameOf(value[:end])] {
				if e.name.MatchString(value[:end]) {
					n.changedBy = append(n.changedBy, e.entry)
				}
			}
		}
	}
}
