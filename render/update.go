package render

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

// Update is what rendering environments changes in rendered/.
type Update struct {
	Environments []EnvironmentUpdate
	// Orphans are the files below rendered/ that no index lists, and that stay: warnings, in
	// the order of files. Where all environments are rendered, those of no environment are
	// among them.
	Orphans []manifest.Problem
}

// EnvironmentUpdate is what rendering one environment changes, or why it cannot be
// rendered. Of an environment that is gone the plan is to leave nothing.
type EnvironmentUpdate struct {
	Name    string
	Objects int
	// Sources are the files that it was made from, relative to the root.
	Sources []string
	Plan    *tree.Plan
	// Problems are errors, without which there is a plan, and warnings.
	Problems []manifest.Problem
}

// NewUpdate renders environments and plans what to write. It calls progress with each step. An
// error is for what keeps it from finding out what is wrong with them. A caller that stages the
// update holds the lock of the repository until it has closed it. Close the update after use.
func NewUpdate(ctx context.Context, repository *Repository, selection Selection, progress func(environment, step string)) (*Update, error) {
	names, err := repository.Select(selection)
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
		if e.Plan != nil && !manifest.HasErrors(e.Problems) {
			update.Orphans = append(update.Orphans, e.Plan.Orphans()...)
		}
	}
	if selection.All {
		update.Orphans = append(update.Orphans, tree.Orphans(repository.root, names)...)
	}
	update.Orphans = manifest.SortProblems(update.Orphans)
	repository.Memo.Forget(update.Failed())
	for _, p := range update.problems() { // below rendered/, too
		repository.look(p.File)
	}
	return update, nil
}

// UpdateOne renders an environment and calls use with what that changes, while nobody else
// writes. Where the environment has errors it returns its problems instead.
func UpdateOne(ctx context.Context, repository *Repository, name string, progress func(step string), use func(EnvironmentUpdate) ([]manifest.Problem, error)) ([]manifest.Problem, error) {
	unlock, err := repository.RLock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	update, err := NewUpdate(ctx, repository, Selection{Names: []string{name}}, func(_, step string) { progress(step) })
	if err != nil {
		return nil, err
	}
	defer update.Close()
	if update.Failed() {
		return update.Environments[0].Problems, nil
	}
	return use(update.Environments[0])
}

// problems returns those of all environments, and orphans.
func (u *Update) problems() []manifest.Problem {
	problems := slices.Clone(u.Orphans)
	for _, e := range u.Environments {
		problems = append(problems, e.Problems...)
	}
	return problems
}

// plan renders the environment, which has to be there if it was asked for, and compares it with what
// was rendered before, which it reads meanwhile.
func (e *EnvironmentUpdate) plan(repository *Repository, askedFor bool, progress func(step string)) {
	var plan *tree.Plan
	var reading sync.WaitGroup
	reading.Go(func() { plan = tree.NewPlan(repository.root, e.Name) })
	var rendering *Rendering
	rendering, e.Problems = repository.RenderOrGone(e.Name, askedFor, progress)
	reading.Wait()
	if rendering == nil {
		plan.Close()
		return
	}
	progress("comparing")
	e.Plan, e.Objects, e.Sources = plan, len(rendering.Objects), rendering.Sources
	problems := plan.Compare(rendering.Files, rendering.Beside, rendering.Index)
	if manifest.HasErrors(problems) {
		repository.lookBelow(path.Join(tree.Folder, e.Name))
	}
	e.Problems = slices.Concat(problems, e.Problems)
}

// RenderOrGone renders an environment. One that is gone, and was not asked for, is rendered to
// nothing.
func (r *Repository) RenderOrGone(name string, askedFor bool, progress func(step string)) (*Rendering, []manifest.Problem) {
	switch {
	case r.hasEnvironment(name):
		return Render(r, name, progress)
	case askedFor:
		return nil, []manifest.Problem{r.missing(name)}
	}
	return &Rendering{Environment: name}, nil
}

// Strict turns each warning into an error. Orphans are none to a check, which does not pass
// them anyway.
func (u *Update) Strict(check bool) {
	for i := range u.Orphans {
		u.Orphans[i].Warning = check
	}
	for _, e := range u.Environments {
		for i := range e.Problems {
			e.Problems[i].Warning = false
		}
	}
}

// Failed reports whether there are errors. Then nothing is to be staged.
func (u *Update) Failed() bool { return manifest.HasErrors(u.problems()) }

// Changes reports whether there is anything to write or prune.
func (u *Update) Changes() bool {
	return slices.ContainsFunc(u.Environments, func(e EnvironmentUpdate) bool { return e.Plan != nil && e.Plan.Changes() })
}

// Stage makes ready what is to be written, in all environments. An error is one of
// nothing being changed.
func (u *Update) Stage(ctx context.Context) error {
	errs := make([]error, len(u.Environments))
	for i, e := range u.Environments {
		errs[i] = e.Plan.Stage(ctx)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	return nil
}

// Commit writes what was staged. An error says what was changed and what was not.
func (u *Update) Commit() error {
	for _, e := range u.Environments {
		if err := e.Plan.Commit(); err != nil {
			var progress []string
			for _, each := range u.Environments {
				progress = append(progress, each.Plan.Progress()...)
			}
			return fmt.Errorf("%w\n%s\nrender again to complete it", err, strings.Join(progress, "\n"))
		}
	}
	return nil
}

// Close discards what was staged and not committed.
func (u *Update) Close() {
	for _, e := range slices.Backward(u.Environments) { // the first may have made a folder for all
		if e.Plan != nil {
			e.Plan.Close()
		}
	}
}
