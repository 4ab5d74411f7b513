package render

import (
	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
)

// locate returns a problem with the file and line to change: of the entry of a kustomization that set the field last,
// or else of the source object. It leaves a problem alone that has a file.
func locate(in *input, paths *kustomize.Paths, problem manifest.Problem) manifest.Problem {
	if problem.File == "" && paths != nil {
		if blamed, ok := kustomize.Blame(paths, problem); ok {
			return blamed
		}
	}
	return in.locate(problem)
}

func (p *pipeline) locate(problem manifest.Problem) manifest.Problem {
	return locate(p.input, p.paths, problem)
}

// locateOverride returns a problem of an overridden object with its file and line in the overrides.
func (in *input) locateOverride(paths *kustomize.Paths, p manifest.Problem) manifest.Problem {
	if blamed, ok := kustomize.BlameOverride(paths, in.overrides, p); ok {
		return blamed
	}
	return in.locateInOverrides(p)
}
