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
		for list, field := range map[string][]string{"initContainers": {"image"}, "containers": {"image"},
			"volumes": {"image", "reference"}} {
			items, _ := decoding.At(o.Object, slices.Concat(path, []string{"spec", list})).([]any)
			for i := range items {
				image, _ := decoding.At(items[i], field).(string)
				if _, err := reference.ParseNormalizedNamed(image); image != "" && err != nil &&
					!strings.Contains(image, "${") {
					// of Flux
					at := slices.Concat(path, []string{"spec", list, fmt.Sprintf("[%d]", i)}, field)
					warnings = append(warnings,
						warning(o, manifest.JoinField(at), image,
							"%q is no image, so no Pod starts: %v: write HOST/NAME:TAG, with a name in lower case",
							image, err))
				}
			}
		}
	}
	return warnings
}
