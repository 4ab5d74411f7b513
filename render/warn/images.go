package warn

import (
	"slices"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/references"
)

// invalidImages warns of images that the kubelet cannot parse: their Pods stay in InvalidImageName.
func invalidImages(in Input) (warnings []manifest.Problem) {
	for _, o := range slices.Concat(in.Objects, in.Installed) {
		for path, key := range map[string]string{
			"containers|initContainers[]": "image", "volumes[].image": "reference",
		} {
			references.VisitPods(o, path, func(content map[string]any, at []string) {
				image, _ := content[key].(string)
				err := manifest.CheckImage(image)
				if err == nil {
					return
				}
				warnings = append(warnings, warningAt(o, append(at, key), "%q is no image, so no Pod starts: %v: "+
					"write HOST/NAME:TAG, with a name in lower case", image, err))
			})
		}
	}
	return warnings
}
