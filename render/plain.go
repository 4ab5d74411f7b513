package render

import (
	"errors"

	"example.com/gatehouse/render/kustomize"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
)

// PlainBuild returns the objects in the output of `kustomize build` for a folder, which other tools apply.
// folder is from the root, with a leading slash.
func (r *Repository) PlainBuild(folder string) ([]manifest.Object, error) {
	sources := source.Read(nil, nil, r.fileSystem(), nil, clusterOf, nil, folder)
	if manifest.HasErrors(sources.Problems) {
		return nil, errors.New(sources.Problems[0].String())
	}
	output, err := kustomize.Output(sources, folder)
	if err != nil {
		return nil, err
	}
	objects, problems := tree.Objects("", []tree.File{{Path: "output", Content: output}})
	if len(problems) > 0 {
		return nil, errors.New(problems[0].Message)
	}
	return objects, nil
}
