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

// reviewPrograms returns an effect for each container that is added, removed, or runs something else.
func reviewPrograms(was, is *corev1.PodSpec) (effects []kind.Effect) {
	old, current := pod.Programs(was), pod.Programs(is)
	replaced := predecessors(old, current)
	for i, p := range current {
		if replaced[i] < 0 {
			effects = append(effects, kind.Effect{Type: effect.ContainerAdded, What: "new " + p.Say(), Risk: "it shares the network and the volumes of its Pods"})
		} else {
			effects = append(effects, reviewProgram(old[replaced[i]], p)...)
		}
	}
	for i, p := range old {
		if !slices.Contains(replaced, i) {
			effects = append(effects, kind.Effect{Type: effect.ContainerRemoved, What: kind.Say("%s with image %s is removed", p.Named(), p.Image)})
		}
	}
	return effects
}

// reviewProgram returns the effects of a changed container. It tells an image only if it is a risk: the
// effect of the rollout names all images.
func reviewProgram(was, is pod.Program) (effects []kind.Effect) {
	var said []kind.Sentence
	if was.Name != is.Name || was.Role != is.Role {
		said = append(said, "replaces "+was.Named())
	}
	if !slices.Equal(was.Command, is.Command) || !slices.Equal(was.Args, is.Args) {
		said = append(said, "runs"+orOfImage(is)+" instead of"+orOfImage(was))
	}
	old := was.Hooks()
	for _, h := range is.Hooks() {
		isSame := func(other pod.Hook) bool { return other.Field == h.Field && slices.Equal(other.Command, h.Command) }
		if !slices.ContainsFunc(old, isSame) {
			said = append(said, h.Say())
		}
	}
	if len(said) > 0 {
		effects = append(effects, kind.Effect{Type: effect.ContainerChanged, What: is.Named() + " " + effect.Join(said, "; ")})
	}
	if risk := imageRisk(was.Image, is.Image); risk != "" {
		from, to := kind.SayBoth(was.Image, is.Image)
		effects = append(effects, kind.Effect{Type: effect.ImageMoved, What: is.Named() + kind.Say(" runs image %s instead of %s", to, from), Risk: risk})
	}
	return effects
}

// orOfImage describes the command of a container after the word runs.
func orOfImage(p pod.Program) kind.Sentence {
	switch said := p.SayCommand(); {
	case said == "":
		return " the command of its image"
	case len(p.Command) == 0:
		return " the command of its image" + said
	default:
		return kind.Sentence(strings.TrimPrefix(string(said), ":"))
	}
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
