package pods

import (
	"fmt"
	"slices"
	"strings"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
	"example.com/gatehouse/render/verdict/podsecurity"
)

// runs describes all containers of an object's Pods, after a colon, and returns the fields that it tells.
func runs(w *world.World, o *unstructured.Unstructured) (said kind.Sentence, fields []string) {
	separator := kind.Sentence(": ")
	for _, t := range w.Templates(o) {
		said, separator = said+separator+pod.SayAll(&t.Spec), "; "
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

// predecessors returns the indexes of the containers that new ones replace, each at most once, or -1.
func predecessors(was, is []pod.Program) []int {
	all := make([]int, len(is))
	for i, p := range is {
		if all[i] = predecessor(p, was, is); slices.Contains(all[:i], all[i]) {
			all[i] = -1
		}
	}
	return all
}

// predecessor returns the index of the container of the same name, or else of a removed one with the same
// image repository, or -1.
func predecessor(of pod.Program, was, is []pod.Program) int {
	if i := slices.IndexFunc(was, func(p pod.Program) bool { return p.Name == of.Name }); i >= 0 {
		return i
	}
	return slices.IndexFunc(was, func(p pod.Program) bool {
		isLeft := slices.ContainsFunc(is, func(other pod.Program) bool { return other.Name == p.Name })
		return !isLeft && repositoryOf(p.Image) == repositoryOf(of.Image)
	})
}

// compared is a container with the old containers that it is compared with.
type compared struct {
	corev1.Container
	was   []corev1.Container
	isNew bool
}

// compare returns the containers of Pods, so that a new name does not hide a lost protection: containers with
// nothing in common replace each other in their order. An additional container is compared with all old ones.
func compare(was, is *corev1.PodSpec) (all []compared) {
	old, current := pod.Programs(was), pod.Programs(is)
	of := predecessors(old, current)
	next := 0 // old container without a successor
	for i, p := range current {
		for of[i] < 0 && next < len(old) && slices.Contains(of, next) {
			next++
		}
		if of[i] < 0 && next < len(old) {
			of[i] = next
		}
		c := compared{Container: p.Container, was: world.Containers(was), isNew: of[i] < 0}
		if !c.isNew {
			c.was = c.was[of[i] : of[i]+1]
		}
		all = append(all, c)
	}
	return all
}

// reviewPrograms returns the effects of containers that are added, or get an image that is a risk.
func reviewPrograms(was, is *podsecurity.Template) (effects []kind.Effect) {
	old, current := pod.Programs(&was.Spec), pod.Programs(&is.Spec)
	for i, of := range predecessors(old, current) {
		p := current[i]
		fields := fieldsOf(is.Field, p)
		if of < 0 {
			effects = append(effects, kind.Effect{Type: effect.ContainerAdded, What: "new " + p.Say(), Risk: "it shares the network and the volumes of its Pods", Fields: fields})
		} else if risk := imageRisk(old[of].Image, p.Image); risk != "" {
			from, to := kind.SayBoth(old[of].Image, p.Image)
			e := kind.Effect{Type: effect.ImageMoved, What: p.Named() + kind.Say(" runs image %s instead of %s", to, from), Risk: risk}
			if old[of].Name == p.Name && old[of].List == p.List {
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
	case repositoryOf(was) != repositoryOf(is):
		return "the image now comes from another repository"
	case isPinned(was) && !isPinned(is):
		return "its digest is removed: a tag may get another image later"
	}
	return ""
}

// repositoryOf returns an image without its tag and digest.
func repositoryOf(image string) string {
	if named, err := reference.ParseNormalizedNamed(image); err == nil {
		return named.Name()
	}
	name, _, _ := strings.Cut(image, "@") // such as ${REGISTRY}/web:1
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
		name = name[:colon]
	}
	return name
}
