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

// readKubernetes sets the version of Kubernetes that the environment is for.
func (e *environment) readKubernetes() []manifest.Problem {
	return e.readAnnotation(tree.KubernetesAnnotation, func(version string) (err error) {
		e.kubernetes, err = apiserver.ParseVersion(version)
		return err
	})
}

// readAnnotation has use read an annotation of the environment's kustomization, where it has that. What
// the environment builds on says none in its place: an annotation that is not read is a problem.
func (e *environment) readAnnotation(name string, use func(value string) error) (problems []manifest.Problem) {
	own := e.sources.Kustomizations[e.folder]
	_, saysOwn := annotationOf(own, name)
	for _, k := range e.sources.Kustomizations {
		text, says := annotationOf(k, name)
		var message string
		switch {
		case !says:
		case k == own:
			if err := use(text); err != nil {
				message = err.Error()
			}
		case !saysOwn:
			message = "only the kustomization of an environment says this: write it in " + path.Join(source.Relative(e.folder), "kustomization.yaml")
		}
		if message != "" {
			line := e.sources.Line(k.File, "metadata", "annotations", name)
			problems = append(problems, manifest.Problem{File: source.Relative(k.File), Line: line, Message: name + ": " + message})
		}
	}
	return problems
}

// annotationOf returns an annotation of a kustomization, which may be nil.
func annotationOf(k *source.Kustomization, name string) (value string, isThere bool) {
	if k == nil || k.MetaData == nil {
		return "", false
	}
	value, isThere = k.MetaData.Annotations[name]
	return value, isThere
}
