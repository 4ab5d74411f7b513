package images

import (
	corev1 "k8s.io/api/core/v1"

	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/source/fetched"
)

// Ask asks the registries of the images that a change adds to Pods. What they answer becomes a fact of the comparisons;
// an image whose registry does not answer stays unknown.
func Ask(d *compare.Diff, registry fetched.Registry) {
	if d.Base == "" {
		return
	}
	all, _ := List(d)
	isNew := map[string]bool{}
	var known []string
	for _, image := range all {
		if isNew[image.Image] = image.IsNew; !image.IsNew {
			known = append(known, image.Image)
		}
	}
	registry.TrustImages(known)
	needsPlatforms := map[string]bool{} // of each asked image
	for _, e := range d.Environments {
		for _, c := range e.Changes {
			for _, t := range e.PodChanges(c) {
				for _, p := range pod.Programs(&t.Is.Spec) {
					if isNew[p.Image] {
						needsPlatforms[p.Image] = needsPlatforms[p.Image] || t.Is.Spec.NodeSelector[corev1.LabelArchStable] != ""
					}
				}
			}
		}
	}
	names := make([]string, 0, len(needsPlatforms))
	for name := range needsPlatforms {
		names = append(names, name)
	}
	answers := make([]*fetched.Image, len(names))
	parallel.Some(len(names), len(names), func(n int) {
		if image, err := registry.Image(names[n], needsPlatforms[names[n]]); err == nil {
			answers[n] = &image
		}
	})
	found := map[string]fetched.Image{}
	for n, answer := range answers {
		if answer != nil {
			found[names[n]] = *answer
		}
	}
	for _, e := range d.Environments {
		e.Images = found
	}
}
