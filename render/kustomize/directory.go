package kustomize

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"example.com/gatehouse/render/kustomize/buildpath"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
)

// readDirectory returns the objects of a directory, which Argo CD reads without kustomize: it drops no local config and
// takes the last one of several objects with one ID. See splitYAMLOrJSON in reposerver/repository/repository.go there,
// and DeduplicateTargetObjects in controller/state.go.
func readDirectory(paths *Paths) (objects []manifest.Object, problems []manifest.Problem) {
	type first struct {
		index int
		source.Document
	}
	seen := map[buildpath.NamedID]first{}
	for _, p := range paths.All {
		o, err := manifest.FromYAML11(yaml.CopyYNode(p.Document.Node()))
		if err != nil {
			unreadable := &objectError{p.Document.ID, err}
			problems = append(problems, kustomizeProblem(paths.Sources, p.Document.File, unreadable))
			continue
		}
		o.Origin = source.Relative(p.Document.File)
		id := buildpath.IDOf(o)
		if before, isRepeated := seen[id]; isRepeated {
			problems = append(problems, repeatedProblem(p.Document, before.Document))
			objects[before.index] = o
			continue
		}
		seen[id] = first{len(objects), p.Document}
		objects = append(objects, o)
	}
	return objects, problems
}

// repeatedProblem returns the warning of an object of a directory that is there before.
func repeatedProblem(d, before source.Document) manifest.Problem {
	p := at(manifest.Problem{Code: manifest.DuplicateObject, Warning: true}, before)
	p.Message = "is in " + p.Position() + " as well, and Argo CD takes this one: remove or rename one"
	return at(p, d)
}
