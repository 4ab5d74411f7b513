package render

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"example.com/gatehouse/render/fault"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/parallel"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/source/fetched"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/watchdog"
)

// Update is a planned change of rendered/.
type Update struct {
	Environments []TreeUpdate
	// Orphans are warnings of files below rendered/ that no index lists, in the order of files.
	// The update keeps them. A Selection of all environments includes the files outside any
	// environment.
	Orphans []manifest.Problem
	// Fetched are the files that were fetched; none by NewUpdate.
	Fetched []fetched.Files

	leftOut []string // the entries that the settings exclude
	// undelivered are the folders and files of objects that no environment has.
	undelivered []string
}

// TreeUpdate is the planned change of one rendered environment. The plan of an environment that
// is gone removes everything.
type TreeUpdate struct {
	Name    string
	Objects int
	// Sources are the source files, relative to the root.
	Sources []string
	// CRLF are files of generators with CRLF line ends, relative to the root.
	CRLF     []string
	Coverage Coverage
	// Plan is nil if the environment cannot be rendered, and for a folder, which is rendered nowhere.
	Plan     *tree.Plan
	Problems []manifest.Problem
}

// NewUpdate renders environments and plans the changes of rendered/. It calls progress with each
// step. A caller that stages the update holds the lock of the repository until it closes the
// update.
func NewUpdate(ctx context.Context, repository *Repository, selection Selection,
	progress func(environment, step string)) (*Update, error) {
	repository = repository.Still()
	names, err := repository.Select(selection)
	if err != nil {
		return nil, err
	}
	selected := names
	if selection.Changed != nil {
		selected = repository.changed(names, selection.Changed)
	}
	selected, _, warnings := repository.CheckedOut(selected)
	if len(selected) == 1 { // it shares nothing
		alone := *repository
		alone.shared, repository = nil, &alone
	}
	watchdog.Expect(len(selected))
	update := &Update{Environments: make([]TreeUpdate, len(selected))}
	parallel.Some(SideBySide, len(selected), func(i int) {
		e := &update.Environments[i]
		e.Name = selected[i]
		if ctx.Err() == nil {
			e.plan(repository, LoadOptions{MayBeGone: !slices.Contains(selection.Names, e.Name),
				Progress: func(step string) { progress(e.Name, step) }})
		}
	})
	if err := ctx.Err(); err != nil {
		update.Close()
		return nil, err
	}
	if len(update.Environments) > 0 {
		update.Environments[0].Problems = append(update.Environments[0].Problems, warnings...)
	}
	for _, e := range update.Environments {
		if e.Plan != nil && !manifest.HasErrors(e.Problems) {
			update.Orphans = append(update.Orphans, e.Plan.Orphans()...)
		}
	}
	if selection.All {
		update.leftOut = repository.LeftOut()
		update.undelivered = repository.found().undelivered
	}
	if selection.All && repository.fileSystem().IsDir("/"+tree.EnvironmentsFolder) {
		update.Orphans = append(update.Orphans, tree.Orphans(repository.root, names)...)
	}
	update.Orphans = manifest.SortProblems(update.Orphans)
	repository.options.Memo.Forget(update.Failed())
	for _, p := range update.problems() { // some are below rendered/
		repository.look(p.File)
	}
	return update, nil
}

// SideBySide is the number of environments that are rendered at a time. A stage of one that runs on a
// single processor leaves the others to the other one; more environments would take more memory.
const SideBySide = 2

// UpdateOne plans the update of an environment and calls use with it, while no other run writes
// to the repository. If the environment has errors, it returns the problems instead.
func UpdateOne(ctx context.Context, repository *Repository, name string, progress func(step string),
	use func(TreeUpdate) ([]manifest.Problem, error)) ([]manifest.Problem, error) {
	if IsFolder(name) {
		return nil, errNotRendered(name)
	}
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

// problems returns the problems of all environments and the orphans.
func (u *Update) problems() []manifest.Problem {
	problems := slices.Clone(u.Orphans)
	for _, e := range u.Environments {
		problems = append(problems, e.Problems...)
	}
	return problems
}

// plan renders the environment and compares it with its previous rendering, which it reads
// meanwhile. It is a problem if an environment is gone that was asked for.
func (e *TreeUpdate) plan(repository *Repository, options LoadOptions) {
	defer fault.Keep(&e.Problems, PlaceOf(e.Name))
	if IsFolder(e.Name) {
		e.take(repository.Load(e.Name, options))
		return
	}
	var previous *tree.Previous
	wait := parallel.Ahead(func() { previous = tree.ReadPrevious(repository.root, e.Name) })
	rendering := e.take(repository.Load(e.Name, options))
	wait()
	if rendering == nil {
		previous.Close()
		return
	}
	options.Progress("comparing")
	plan, problems := previous.Plan(rendering.Files, rendering.Beside, rendering.Index)
	e.Plan = plan
	if manifest.HasErrors(problems) {
		repository.lookBelow(path.Join(tree.Folder, e.Name))
	}
	e.Problems = slices.Concat(problems, e.Problems)
}

// take adds an environment, and returns its rendering.
func (e *TreeUpdate) take(loaded *Environment) *Rendering {
	e.Problems = loaded.Problems
	e.Coverage = loaded.Coverage()
	if r := loaded.Rendering; r != nil {
		e.Objects = r.count()
		e.Sources = r.Sources
		e.CRLF = r.CRLF
	}
	return loaded.Rendering
}

// Plan plans to write a rendering. Files that render did not write are no part of the plan. The caller must close it.
func (r *Repository) Plan(rendering *Rendering) *tree.Plan {
	plan, _ := tree.ReadPrevious(r.root, rendering.Environment).Plan(rendering.Files, rendering.Beside, rendering.Index)
	return plan
}

// Strict turns warnings into errors. A check fails with orphans anyway, and keeps them warnings.
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

// Failed reports whether there are errors, so that the update must not be staged.
func (u *Update) Failed() bool { return manifest.HasErrors(u.problems()) }

// Coverage returns the coverage of all environments.
func (u *Update) Coverage() Coverage {
	all := Coverage{NotJudged: []NotJudged{}, Entries: u.leftOut, Fetched: u.Fetched}
	for _, e := range u.Environments {
		all.Add(e.Coverage)
	}
	for _, name := range u.undelivered {
		what := "folder"
		if source.IsYAML(name) {
			what = "file"
		}
		all.NotJudged = append(all.NotJudged, NotJudged{Environment: name, What: what, Reason: undelivered, File: name})
	}
	return all
}

// Changes reports whether the update writes or prunes files.
func (u *Update) Changes() bool {
	return slices.ContainsFunc(u.Environments, func(e TreeUpdate) bool { return e.Plan != nil && e.Plan.Changes() })
}

// Stage prepares the files of all environments. On an error nothing has changed.
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

// Commit writes the staged files. Its error lists the changed and the unchanged files.
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

// Close discards staged files that were not committed.
func (u *Update) Close() {
	for _, e := range slices.Backward(u.Environments) { // the first may have made a folder that all share
		if e.Plan != nil {
			e.Plan.Close()
		}
	}
}
