package images

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/source/fetched"
)

// Ask asks the registries of the images that a change adds to Pods. It returns a comparison with their answers, and the
// reasons for the images that stay unknown.
func Ask(d *compare.Diff, registry fetched.Registry) (with *compare.Diff, unknown []string) {
	if d.Base == "" {
		return d, nil
	}
	all, _ := List(d)
	isNew := map[string]bool{}
	var known []string
	for _, image := range all {
		isNew[image.Image] = image.IsNew
		if !image.IsNew {
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
						isSelected := t.Is.Spec.NodeSelector[corev1.LabelArchStable] != ""
						needsPlatforms[p.Image] = needsPlatforms[p.Image] || isSelected
					}
				}
			}
		}
	}
	names := slices.Sorted(maps.Keys(needsPlatforms))
	answers := make([]fetched.Image, len(names))
	errs := make([]error, len(names))
	parallel.Some(len(names), len(names), func(n int) {
		answers[n], errs[n] = registry.Image(names[n], needsPlatforms[names[n]])
	})
	found := map[string]fetched.Image{}
	for n, name := range names {
		if errs[n] == nil {
			found[name] = answers[n]
		} else {
			unknown = append(unknown, name+": "+errs[n].Error())
		}
	}
	return d.WithImages(found), unknown
}
