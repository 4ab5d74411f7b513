// Package upgrade judges environments as another version of Kubernetes would, beside the version that each
// environment is for.
package upgrade

import (
	"cmp"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/watchdog"
)

// Environment is the difference of two verdicts on an environment.
type Environment struct {
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"`
	// IsAssumed reports whether neither the environment nor the caller names a version, so that Before is the newest.
	IsAssumed bool            `json:"isAssumed,omitempty"`
	Coverage  render.Coverage `json:"-"`
	*compare.Verdicts
}

// Run compares the verdicts of two versions on environments, without from of their own one, and returns the errors of
// both. Of an environment with an error before the verdict it returns only these. It calls progress with each step.
func Run(repository *render.Repository, selection render.Selection, from, version string,
	progress func(environment, step string)) (all []*Environment, errs []manifest.Problem, err error) {
	for _, version := range []string{version, cmp.Or(from, version)} {
		if err := render.CheckKubernetes(version); err != nil {
			return nil, nil, err
		}
	}
	names, err := repository.Select(selection)
	if err != nil {
		return nil, nil, err
	}
	watchdog.Expect(len(names))
	for _, name := range names {
		options := render.LoadOptions{Memo: &memo.Memo{}, // both verdicts are on the same objects
			Progress: func(step string) { progress(name, step) }}
		judge := func(version string) *render.Environment {
			options.By = &render.By{Kubernetes: version}
			return repository.Judge(name, options)
		}
		before := judge(from)
		if _, hasJudge := before.Definitions(); !hasJudge {
			found, _ := manifest.SplitProblems(before.Problems)
			errs = append(errs, found...)
			continue
		}
		isAssumed := !before.DeclaresKubernetes()
		if isAssumed { // a verdict without a version is one on all versions
			before = judge(before.Kubernetes())
		}
		after := judge(version)
		compared := &Environment{name, before.Kubernetes(), version, isAssumed, after.Coverage(),
			compare.OfVerdicts(before, after)}
		all = append(all, compared)
		errs = append(errs, compared.Both...)
	}
	return all, errs, nil
}
