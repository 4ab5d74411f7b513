package pods

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/review/effect"
	"example.com/gatehouse/render/review/image"
	"example.com/gatehouse/render/verdict/podsecurity"
)

// runs describes all containers of an object's Pods, after a colon, and returns the fields that it tells.
func runs(both *compare.Comparison, o *unstructured.Unstructured) (said kind.Sentence, fields []string) {
	separator := kind.Sentence(": ")
	for _, t := range both.Templates(o) {
		said += separator + pod.SayAll(&t.Spec)
		separator = "; "
		for _, p := range pod.Programs(&t.Spec) {
			fields = append(fields, fieldsOf(t.Field, p)...)
		}
	}
	return said, fields
}

// fieldsOf returns the fields of a container that its words tell.
func fieldsOf(spec string, p pod.Program) []string {
	at := fmt.Sprintf("%s.%s[%s]", spec, p.List, p.Name)
	return []string{at + ".name", at + ".image", at + ".command", at + ".args"}
}

// predecessor returns the index of the container of the same name, or else of a removed one with the same
// image repository, or -1.
func predecessor(of pod.Program, was, is []pod.Program) int {
	if i := slices.IndexFunc(was, func(p pod.Program) bool { return p.Name == of.Name }); i >= 0 {
		return i
	}
	return slices.IndexFunc(was, func(p pod.Program) bool {
		isLeft := slices.ContainsFunc(is, func(other pod.Program) bool { return other.Name == p.Name })
		return !isLeft && image.Repository(p.Image) == image.Repository(of.Image)
	})
}

// compared is a container with the old containers that it is compared with.
type compared struct {
	pod.Program
	was         []pod.Program
	predecessor *pod.Program // nil without one of the same name or image repository
	isNew       bool         // nothing is left to replace
}

// compare returns the containers of Pods, so that a new name does not hide a lost protection: containers with
// nothing in common replace each other in their order. An additional container is compared with all old ones.
func compareContainers(was, is *corev1.PodSpec) (all []compared) {
	old := pod.Programs(was)
	current := pod.Programs(is)
	isReplaced := make([]bool, len(old))
	for _, p := range current {
		c := compared{Program: p, was: old}
		if i := predecessor(p, old, current); i >= 0 && !isReplaced[i] {
			isReplaced[i] = true
			c.predecessor = &old[i]
			c.was = old[i : i+1]
		}
		all = append(all, c)
	}
	for i := range all {
		if next := slices.Index(isReplaced, false); all[i].predecessor == nil && next >= 0 {
			isReplaced[next] = true
			all[i].was = old[next : next+1]
		} else {
			all[i].isNew = all[i].predecessor == nil
		}
	}
	return all
}

// reviewPrograms returns the effects of containers that are added, or get an image that is a risk.
func reviewPrograms(was, is *podsecurity.Template) (effects []kind.Effect) {
	for _, c := range compareContainers(&was.Spec, &is.Spec) {
		old := c.predecessor
		fields := fieldsOf(is.Field, c.Program)
		if old == nil {
			effects = append(effects, kind.Effect{Type: effect.ContainerAdded, What: "new " + c.Say(),
				Risk: "it shares the network and the volumes of its Pods", Fields: fields})
		} else if risk := imageRisk(old.Image, c.Image); risk != "" {
			from, to := kind.SayBoth(old.Image, c.Image)
			e := kind.Effect{Type: effect.ImageMoved,
				What: c.Named() + kind.Say(" runs image %s instead of %s", to, from), Risk: risk}
			if old.Name == c.Name && old.List == c.List {
				e.Fields = fields[1:2] // the image
			}
			effects = append(effects, e)
		}
	}
	return effects
}

// imageRisk returns the risk of another image, if it is more than a new version.
func imageRisk(was, is string) kind.Sentence {
	isPinned := func(image string) bool { return strings.Contains(image, "@") }
	switch {
	case was == is:
		return ""
	case image.Repository(was) != image.Repository(is):
		return "the image now comes from another repository"
	case isPinned(was) && !isPinned(is):
		return compare.DigestLost
	case image.Tag(was) != "" && image.Tag(was) == image.Tag(is) && isPinned(was):
		return "the same tag has another content: it is no new version"
	}
	return ""
}
