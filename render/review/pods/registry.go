package pods

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/render/review/image"
	"example.com/gatehouse/render/verdict/podsecurity"
)

// reviewImages returns the effects of new images that are not as their registries have them.
func reviewImages(both *compare.Comparison, is *podsecurity.Template) (effects []kind.Effect) {
	for _, p := range pod.Programs(&is.Spec) {
		found, isKnown := both.Images[p.Image]
		if !isKnown {
			continue
		}
		if risk := registryRisk(p.Image, found, is.Spec.NodeSelector[corev1.LabelArchStable]); risk != "" {
			effects = append(effects, kind.Effect{Type: effect.ImageUnfit,
				What: p.Named() + kind.Say(" runs image %s", p.Image), Risk: risk})
		}
	}
	return effects
}

// registryRisk returns the risk of an image, on nodes of an architecture if one is asked for.
func registryRisk(name string, found compare.Image, architecture string) kind.Sentence {
	_, digest, isPinned := strings.Cut(name, "@")
	isFor := func(platform string) bool { return strings.HasSuffix(platform, "/"+architecture) }
	switch {
	case found.Missing != "":
		return kind.Say("its registry does not have %s: no Pod starts", found.Missing)
	case isPinned && found.Digest != "" && found.Digest != digest:
		return kind.Say("the tag %s has another digest in its registry, %s", image.Tag(name), found.Digest)
	case architecture != "" && len(found.Platforms) > 0 && !slices.ContainsFunc(found.Platforms, isFor):
		return kind.Say("it is for %s, and its nodes are %s", strings.Join(found.Platforms, ", "), architecture)
	}
	return ""
}
