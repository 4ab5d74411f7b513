package setup

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/distribution/reference"

	"example.com/gatehouse/render/warn"
)

// Image is the image of the controller of the same release, with its digest. The linker of a
// release sets it: -X example.com/gatehouse/render/verbs/setup.Image=NAME:TAG@DIGEST
var Image string

// controllerName is the name that the manifests of the controller have for its image.
const controllerName = "gatehouse-controller"

// imageEntry returns the entry under images: of a kustomization for the controller's image: the one
// that was asked for or, where that is empty, the one of this release or, in no release, of a build.
func imageEntry(asked string) (string, error) {
	asked = cmp.Or(asked, Image, warn.LocalImage)
	parsed, err := reference.Parse(asked)
	named, hasName := parsed.(reference.Named)
	if err == nil && !hasName {
		err = errors.New("has no name")
	}
	if err != nil {
		return "", fmt.Errorf("--image %q: %w: write one like registry.example.com/%s:v1.0.0", asked, err, controllerName)
	}
	tagged, hasTag := parsed.(reference.Tagged)
	digested, hasDigest := parsed.(reference.Digested)
	if !hasTag && !hasDigest {
		return "", fmt.Errorf("--image %s: has neither tag nor digest: write %s@sha256:..., as the registry has it", asked, asked)
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
