package render

import (
	"path"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verdict/apiserver"
)

// readKubernetes sets the version of Kubernetes that the environment is for. What it builds on says
// none in its place: an annotation that is not read is a problem.
func (e *environment) readKubernetes() (problems []manifest.Problem) {
	own := e.sources.Kustomizations[e.folder]
	for _, k := range e.sources.Kustomizations {
		if k.MetaData == nil {
			continue
		}
		text, ok := k.MetaData.Annotations[tree.KubernetesAnnotation]
		problem := manifest.Problem{File: source.Relative(k.File), Line: e.sources.Line(k.File, "metadata", "annotations", tree.KubernetesAnnotation)}
		var err error
		switch {
		case !ok:
			continue
		case k == own:
			e.kubernetes, err = apiserver.ParseVersion(text)
		case own.MetaData == nil || own.MetaData.Annotations[tree.KubernetesAnnotation] == "":
			problem.Message = tree.KubernetesAnnotation + ": only the kustomization of an environment says this: write it in " + path.Join(source.Relative(e.folder), "kustomization.yaml")
			problems = append(problems, problem)
		}
		if err != nil {
			problem.Message = tree.KubernetesAnnotation + ": " + err.Error()
			problems = append(problems, problem)
		}
	}
	return problems
}
