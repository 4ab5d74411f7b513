// Package upgrade judges environments as another version of Kubernetes would, beside the version that each
// environment is for.
package upgrade

import (
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/verbs/diff"
)

// Environment is the difference of two verdicts on an environment.
type Environment struct {
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"`
	*diff.Verdicts
}

// Run compares the verdicts on environments. It calls progress with each step.
func Run(repository *render.Repository, selection render.Selection, version string, progress func(environment, step string)) ([]*Environment, error) {
	if err := render.CheckKubernetes(version); err != nil {
		return nil, err
	}
	names, err := repository.Select(selection)
	if err != nil {
		return nil, err
	}
	var all []*Environment
	for _, name := range names {
		repository.Memo = &memo.Memo{} // both verdicts are on the same built objects
		before, err := render.Examine(repository, name, func(step string) { progress(name, step) })
		if err != nil {
			return nil, err
		}
		after, err := render.Examine(repository.As(version), name, func(step string) { progress(name, step) })
		if err != nil {
			return nil, err
		}
		all = append(all, &Environment{name, before.Kubernetes(), version, diff.CompareVerdicts(before, after)})
	}
	return all, nil
}
