package render

import (
	"context"
	"slices"

	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/tree"
)

// Update is what rendering environments changes in rendered/.
type Update struct {
	Environments []EnvironmentUpdate
}

// EnvironmentUpdate is what rendering one environment changes, or why it cannot be
// rendered. Of an environment that is gone the plan is to leave nothing.
type EnvironmentUpdate struct {
	Name     string
	Objects  int
	Plan     *tree.Plan
	Problems []object.Problem
}

// NewUpdate renders environments and plans what to write. An error is for what keeps
// it from finding out what is wrong with them. Whoever is to apply the update holds
// the lock of the repository. Progress is told what is being done. Close the update
// after use.
func NewUpdate(ctx context.Context, repository *Repository, selection Selection, progress func(environment, step string)) (*Update, error) {
	names, err := repository.selected(selection)
	if err != nil {
		return nil, err
	}
	update := &Update{}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			update.Close()
			return nil, err
		}
		e := EnvironmentUpdate{Name: name}
		e.plan(repository, slices.Contains(selection.Names, name), func(step string) { progress(name, step) })
		update.Environments = append(update.Environments, e)
	}
	return update, nil
}

// plan renders the environment, which has to be there if it was asked for, and
// compares it with what was rendered before.
func (e *EnvironmentUpdate) plan(repository *Repository, askedFor bool, progress func(step string)) {
	rendering := &Rendering{}
	switch {
	case repository.hasEnvironment(e.Name):
		rendering, e.Problems = Render(repository, e.Name, progress)
	case askedFor:
		e.Problems = []object.Problem{{File: environmentsFolder + "/" + e.Name, Message: "no such environment: make a folder of that name with a kustomization.yaml"}}
	}
	if len(e.Problems) > 0 {
		return
	}
	progress("comparing")
	e.Objects = len(rendering.Objects)
	e.Plan, e.Problems = tree.NewPlan(repository.root, e.Name, rendering.Files)
}

// Failed says whether any environment has problems. Then nothing can be applied.
func (u *Update) Failed() bool {
	return slices.ContainsFunc(u.Environments, func(e EnvironmentUpdate) bool { return len(e.Problems) > 0 })
}

// Changes says whether there is anything to write or prune.
func (u *Update) Changes() bool {
	return slices.ContainsFunc(u.Environments, func(e EnvironmentUpdate) bool { return e.Plan != nil && e.Plan.Changes() })
}

// Apply writes what has changed.
func (u *Update) Apply(ctx context.Context) error {
	for _, e := range u.Environments {
		if err := e.Plan.Apply(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the plans.
func (u *Update) Close() {
	for _, e := range u.Environments {
		if e.Plan != nil {
			e.Plan.Close()
		}
	}
}
