package scaffold

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/distribution/reference"
)

// Image is the image of the controller of the same release, with its digest. The
// linker sets it where a release is built: -X example.com/gatehouse/render/scaffold.Image=NAME:TAG@DIGEST
var Image string

// controllerName is the name that the manifests of the controller have for its image.
const controllerName = "gatehouse-controller"

// image is an image as kustomize names it.
type image struct{ name, tag, digest string }

// parseImage is the image that was asked for, or the one of this release.
func parseImage(asked string) (image, error) {
	if asked == "" {
		asked = Image
	}
	if asked == "" {
		asked = controllerName + ":" + releasedTag()
	}
	parsed, err := reference.Parse(asked)
	named, ok := parsed.(reference.Named)
	if err == nil && !ok {
		err = fmt.Errorf("has no name")
	}
	if err != nil {
		return image{}, fmt.Errorf("--image %q: %w: write one like registry.example.com/%s:v1.0.0", asked, err, controllerName)
	}
	i := image{name: named.Name()}
	if tagged, ok := parsed.(reference.Tagged); ok {
		i.tag = tagged.Tag()
	}
	if digested, ok := parsed.(reference.Digested); ok {
		i.digest = digested.Digest().String()
	}
	if i.tag == "" && i.digest == "" {
		return image{}, fmt.Errorf("--image %s: has neither tag nor digest: write %s@sha256:..., as the registry has it", asked, asked)
	}
	return i, nil
}

// release is the version of a program that was built from a tag.
var release = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)

// releasedTag is the version of this program, if it is a release, or what the manifests say.
func releasedTag() string {
	if info, ok := debug.ReadBuildInfo(); ok && release.MatchString(info.Main.Version) {
		return info.Main.Version
	}
	return "dev"
}

// entry is the image as an entry under images: of a kustomization.
func (i image) entry() string {
	var b strings.Builder
	b.WriteString("- name: " + controllerName + "\n")
	if i.name != controllerName {
		b.WriteString("  newName: " + i.name + "\n")
	}
	if i.tag != "" {
		fmt.Fprintf(&b, "  newTag: %q\n", i.tag)
	}
	if i.digest != "" {
		b.WriteString("  digest: " + i.digest + "\n")
	}
	return b.String()
}
