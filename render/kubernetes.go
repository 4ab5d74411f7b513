package render

import (
	"path"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verdict/apiserver"
)

// KubernetesVersions returns the minor versions that an environment may be for, the oldest first.
func KubernetesVersions() (names []string) {
	for _, v := range apiserver.Versions() {
		names = append(names, v.String())
	}
	return names
}

// CheckKubernetes returns an error, which names the versions that there are, for a text that is none
// of them.
func CheckKubernetes(text string) error {
	_, err := apiserver.ParseVersion(text)
	return err
}

// readKubernetes sets the version of Kubernetes that the environment is for. What it builds on says
// none in its place: an annotation that is not read is a problem.
func (e *environment) readKubernetes() (problems []manifest.Problem) {
	own := e.sources.Kustomizations[e.folder]
	_, saysOwn := kubernetesOf(own)
	for _, k := range e.sources.Kustomizations {
		text, says := kubernetesOf(k)
		var message string
		switch {
		case !says:
		case k == own:
			var err error
			if e.kubernetes, err = apiserver.ParseVersion(text); err != nil {
				message = err.Error()
			}
		case !saysOwn:
			message = "only the kustomization of an environment says this: write it in " + path.Join(source.Relative(e.folder), "kustomization.yaml")
		}
		if message != "" {
			line := e.sources.Line(k.File, "metadata", "annotations", tree.KubernetesAnnotation)
			problems = append(problems, manifest.Problem{File: source.Relative(k.File), Line: line, Message: tree.KubernetesAnnotation + ": " + message})
		}
	}
	return problems
}

// kubernetesOf returns the version that a kustomization says, which may be nil.
func kubernetesOf(k *source.Kustomization) (version string, says bool) {
	if k == nil || k.MetaData == nil {
		return "", false
	}
	version, says = k.MetaData.Annotations[tree.KubernetesAnnotation]
	return version, says
}
