package pods

import (
	"slices"
	"strings"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/pod"
	"example.com/gatehouse/render/verbs/review/effect"
	"example.com/gatehouse/render/verbs/review/world"
)

// runs describes all containers of an object's Pods, after a colon.
func runs(w *world.World, o *unstructured.Unstructured) kind.Sentence {
	templates := w.Templates(o)
	said := make([]kind.Sentence, 0, len(templates))
	for _, t := range templates {
		said = append(said, pod.SayAll(&t.Spec))
	}
	if len(said) == 0 {
		return ""
	}
	return ": " + effect.Join(said, "; ")
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

// renamed returns the old Pods with the names of the containers that replace theirs, so that a new name does
// not hide a lost protection. Containers with nothing in common replace each other in their order.
func renamed(was, is *corev1.PodSpec) *corev1.PodSpec {
	old, current := pod.Programs(was), pod.Programs(is)
	names := map[string]string{} // of successors
	var left []string
	for i, of := range predecessors(old, current) {
		if of >= 0 {
			names[old[of].Name] = current[i].Name
		} else {
			left = append(left, current[i].Name)
		}
	}
	was = was.DeepCopy()
	rename := func(name *string) {
		switch successor := names[*name]; {
		case successor != "":
			*name = successor
		case len(left) > 0:
			*name, left = left[0], left[1:]
		}
	}
	for i := range was.Containers {
		rename(&was.Containers[i].Name)
	}
	for i := range was.InitContainers {
		rename(&was.InitContainers[i].Name)
	}
	return was
}

// reviewPrograms returns the effects of containers that are added, or get an image that is a risk.
func reviewPrograms(was, is *corev1.PodSpec) (effects []kind.Effect) {
	old, current := pod.Programs(was), pod.Programs(is)
	for i, of := range predecessors(old, current) {
		p := current[i]
		if of < 0 {
			effects = append(effects, kind.Effect{Type: effect.ContainerAdded, What: "new " + p.Say(), Risk: "it shares the network and the volumes of its Pods"})
		} else if risk := imageRisk(old[of].Image, p.Image); risk != "" {
			from, to := kind.SayBoth(old[of].Image, p.Image)
			effects = append(effects, kind.Effect{Type: effect.ImageMoved, What: p.Named() + kind.Say(" runs image %s instead of %s", to, from), Risk: risk})
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
