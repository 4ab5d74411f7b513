package setup

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/distribution/reference"

	"example.com/gatehouse/render/warn"
)

// Image is the controller's image of the same release, with its digest, set by the linker:
// -X example.com/gatehouse/render/verbs/setup.Image=NAME:TAG@DIGEST
var Image string

// controllerName is the name of the image in the controller's manifests.
const controllerName = "gatehouse-controller"

// imageEntry returns the entry for the controller's image in images: of a kustomization. An empty image
// stands for the image of this release or, outside of releases, of a local build.
func imageEntry(image string) (string, error) {
	image = cmp.Or(image, Image, warn.LocalImage)
	parsed, err := reference.Parse(image)
	named, hasName := parsed.(reference.Named)
	if err == nil && !hasName {
		err = errors.New("has no name")
	}
	if err != nil {
		return "", fmt.Errorf("--image %q: %w: specify an image like registry.example.com/%s:v1.0.0", image, err,
			controllerName)
	}
	tagged, hasTag := parsed.(reference.Tagged)
	digested, hasDigest := parsed.(reference.Digested)
	if !hasTag && !hasDigest {
		return "", fmt.Errorf("--image %s: has neither tag nor digest: specify %s@sha256:..., with the digest of the "+
			"registry", image, image)
	}
	entry := "- name: " + controllerName + "\n"
	if named.Name() != controllerName {
		entry += "  newName: " + named.Name() + "\n"
	}
	if hasTag {
		entry += fmt.Sprintf("  newTag: %q\n", tagged.Tag())
	}
	if hasDigest {
		entry += "  digest: " + digested.Digest().String() + "\n"
	}
	return entry, nil
}
