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

// findImages returns the entries of images: none, if an image may have a value that no source object and no patch has.
func findImages(paths *buildpath.Paths, configurations []source.Configuration, noStandIns bool) images {
	found := images{map[imageName][]imageEntry{}, map[position]bool{}}
	if noStandIns || composesImages(paths, configurations) {
		return found
	}
	for _, k := range paths.Loaded {
		found.add(k)
	}
	return found
}

// changes returns the entries of images that may change the images of objects, of patches and of such entries.
func (i images) changes(paths *buildpath.Paths, nodes *nodes) dependencies {
	changes := dependencies{}
	if len(i.isOne) == 0 {
		return changes
	}
	add := func(n *node, values iter.Seq[string]) {
		if found := i.matching(values); len(found) > 0 {
			changes[n] = append(changes[n], found...)
		}
	}
	for _, n := range nodes.all {
		if n.text != nil {
			for _, o := range n.text.Objects {
				add(n, o.Values())
			}
		}
	}
	for folder := range paths.Loaded {
		patches := nodes.entries[folder].all[len(paths.Generators[folder]):]
		for index, p := range paths.Patches[folder] {
			for _, document := range p.Documents {
				add(patches[index], document.Values())
			}
		}
	}
	for _, alike := range i.byName {
		for _, e := range alike {
			add(e.entry, slices.Values([]string{e.newName}))
		}
	}
	return changes
}

// composesImages reports whether an image may have a value of another field of a kustomization, or of an entry that all
// parts have.
func composesImages(paths *buildpath.Paths, configurations []source.Configuration) bool {
	if slices.ContainsFunc(configurations, movesImages) {
		return true
	}
	for _, k := range paths.Loaded {
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
		name := nameOf(image.Name)
		pattern := regexp.MustCompile("^" + image.Name + "$")
		i.byName[name] = append(i.byName[name], imageEntry{n, pattern, image.NewName})
		i.isOne[n.position] = true
	}
}

// matching returns the entries that may change one of some values: of a name, which a tag or digest may follow.
func (i images) matching(values iter.Seq[string]) (found []*node) {
	for value := range values {
		for end := range len(value) + 1 {
			if end < len(value) && value[end] != ':' && value[end] != '@' {
				continue
			}
			for _, e := range i.byName[nameOf(value[:end])] {
				if e.name.MatchString(value[:end]) {
					found = append(found, e.entry)
				}
			}
		}
	}
	return found
}
