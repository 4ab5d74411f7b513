package warn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/distribution/reference"

	"example.com/gatehouse/render/decoding"
	"example.com/gatehouse/render/manifest"
)

// invalidImages warns of images that the kubelet cannot parse: their Pods stay in InvalidImageName.
func invalidImages(in Input) (warnings []manifest.Problem) {
	for _, o := range in.Objects {
		path, _ := manifest.PodTemplatePath(o.GetKind())
		if !manifest.MakesPods(o.Unstructured) {
			continue
		}
		for _, list := range []string{"initContainers", "containers"} {
			containers, _ := decoding.At(o.Object, slices.Concat(path, []string{"spec", list})).([]any)
			for i := range containers {
				image, _ := decoding.At(containers[i], []string{"image"}).(string)
				if _, err := reference.ParseNormalizedNamed(image); image != "" && err != nil && !strings.Contains(image, "${") { // of Flux
					at := slices.Concat(path, []string{"spec", list, fmt.Sprintf("[%d]", i), "image"})
					warnings = append(warnings, warning(o, manifest.JoinField(at), image, "%q is no image, so no Pod starts: %v: write HOST/NAME:TAG, with a name in lower case", image, err))
				}
			}
		}
	}
	return warnings
}
