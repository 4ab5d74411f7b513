package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/delivery/application"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/memo"
	"example.com/gatehouse/render/source"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/verbs/git"
	"example.com/gatehouse/render/verbs/setup"
	"example.com/gatehouse/render/verdict/apiserver"
)

// The exit codes follow `kubectl diff` and `diff`.
const (
	exitDiffers = 1
	exitError   = 2
	// exitNotRoutine is for differences that are not routine, if they have to be.
	exitNotRoutine = 3
	// exitNotJudged is for objects that are not judged, if all have to be.
	exitNotJudged = 3
)

// exitCode is an error that ends the program without a message.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

type flags struct {
	selected
	fetching
	check  bool
	strict bool
	// requireCoverage makes objects that are not judged another exit code.
	requireCoverage bool

	staged bool
	watch  bool
	since  string     // a revision; empty to render what is selected
	memo   *memo.Memo // see render.Repository
}

// newCommand returns the command render for kinds. args are its unparsed arguments.
func newCommand(kinds *registry.Kinds, args []string) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "render (--env NAME... | --all | --changed-since REVISION)",
		Short: "Review and render the manifests of clusters",
		Long: `Judge the manifests of a repository of kustomize, Flux or Argo CD as the API server
would, and show what a change does to each cluster, without a cluster:

  render diff --base main    what the branch changes in each cluster
  render --all --check       what a cluster would refuse, with files and lines

With rendered manifests (render init --from): build environments/NAME with kustomize,
expand each object that is ` + kinds.String() + `, check all objects, and write one object
per file to rendered/NAME, for Argo CD or Flux to sync.

A warning is about something that the API server accepts but that may be a mistake.

With --watch, render again on each change, until Ctrl-C. The next change undoes edits in
rendered/. Some network file systems, and containers on macOS and Windows, do not report
changes: do not use --watch there.

Exit codes: 0 success, or with --check, rendered/ is up to date; 1 with --check,
rendered/ is out of date, or has files that no index lists; 1 with --staged, git add is
missing; 2 error; 3 with --require-coverage, something is not judged; 130 ended by
Ctrl-C. On an error nothing is written. If the
disk fails midway, the error lists the changed files; render again.`,
		Example: `  # Show what the branch changes, as the comment on a pull request
  render diff --base main -o markdown

  # Render rendered/prod
  render --env prod

  # Render again on each change
  render --env prod --watch

  # In CI, fail with a diff if rendered/ is out of date
  render --all --check

  # Check the environments that a branch may change
  render --changed-since main --check

  # In a hook of git, check the commit and not the work tree
  render --all --check --staged

  # In a GitHub workflow, show errors and warnings in the pull request
  render --all --check -o github

  # For code scanning: problems with files, lines and help
  render --all --check -o sarif > gatehouse.sarif

  # List the written files
  render --env dev --env staging -o json | jq -r '.environments[].written[]'`,
		Args:          environmentsAreFlags,
		Version:       programVersions().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.requireCoverage && !f.check {
				return errors.New("--require-coverage needs --check: add it")
			}
			if f.watch {
				return watchEnvironments(cmd, kinds, f)
			}
			return renderOnce(cmd, kinds, f, nil)
		},

		PersistentPreRun:           func(cmd *cobra.Command, _ []string) { limitWatchdog(cmd) },
		SuggestionsMinimumDistance: 2,
	}
	f.addFlags(cmd)
	cmd.SetFlagErrorFunc(suggestFlag)
	addVerbs(cmd, kinds, args)
	return cmd
}

func addVerbs(cmd *cobra.Command, kinds *registry.Kinds, args []string) {
	cobra.EnableCommandSorting = false // the most used ones come first
	cmd.AddCommand(newDiffCommand(kinds), newExplainCommand(kinds), newInitCommand(kinds), newFetchCommand(kinds),
		newChartsCommand(kinds),
		newUpgradeCommand(kinds), newImagesCommand(kinds), newCoverageCommand(kinds), newNewCommand(kinds, args),
		newSyncCommand(kinds),
		newPublishCommand(kinds), newApplyCommand(kinds), newDeleteCommand(kinds), newVersionCommand())
}

func (f *flags) addFlags(cmd *cobra.Command) {
	f.selected.addFlags(cmd, "render", ", and prune removed ones", "text", "json", "github", "sarif")
	cmd.Flags().StringVar(&f.since, "changed-since", "",
		"render the environments that may differ since the branch left the git `REVISION`")
	cmd.MarkFlagsMutuallyExclusive("env", "changed-since")
	f.addVerboseFlag(cmd)
	addModeFlags(cmd, f)
	f.fetching.addFlags(cmd)
	cmd.MarkFlagsMutuallyExclusive("fetch", "watch")
}

// unknownCommand returns the error of an unknown command below another one. The hint is for a name that
// is similar to none.
func unknownCommand(cmd *cobra.Command, name, hint string) error {
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %q?", near[0])
	}
	return fmt.Errorf("unknown command %q for %q: %s", name, cmd.CommandPath(), hint)
}

// addModeFlags adds the flags that say how to render and check the selected environments.
func addModeFlags(cmd *cobra.Command, f *flags) {
	cmd.Flags().BoolVar(&f.check, "check", false,
		"write nothing; print a diff and exit with 1 if rendered/ is out of date")
	cmd.Flags().BoolVar(&f.strict, "strict", false,
		"treat warnings as errors, including warnings that depend on today's date")
	cmd.Flags().BoolVar(&f.requireCoverage, "require-coverage", false,
		"with --check, exit with 3 unless everything is judged: render coverage lists the rest")
	cmd.Flags().BoolVar(&f.staged, "staged", false,
		"for hooks of git: exit with 1 if git add is missing for rendered/; with --check, check the index instead "+
			"of the work tree")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "render again whenever a source file changes, until Ctrl-C")
	cmd.MarkFlagsMutuallyExclusive("watch", "changed-since")
	cmd.Flags().Bool("version", false, "print the version, like render version")
	cmd.SetVersionTemplate(cmd.Version)
}

// environmentsAreFlags returns an error for an unknown command, which is usually an environment.
func environmentsAreFlags(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "name an environment with --env NAME"
	if !cmd.HasParent() && slices.Contains([]string{"check", "judge", "lint", "test", "validate", "verify"}, args[0]) {
		return fmt.Errorf("unknown command %q: write render --all --check", args[0])
	}
	if _, err := apiserver.ParseVersion(args[0]); err == nil && cmd.Flags().Lookup("kubernetes") != nil {
		hint = "write --kubernetes " + args[0]
	}
	return unknownCommand(cmd, args[0], hint)
}

// renderOnce renders environments. It calls look, unless nil, with each path that it reads.
func renderOnce(cmd *cobra.Command, kinds *registry.Kinds, f flags, look func(name string)) error {
	lock := (*render.Repository).RLock
	if !f.check {
		lock = (*render.Repository).Lock
		signal.Ignore(syscall.SIGPIPE) // a closed pipe must not interrupt the writes
	}
	if f.isOn && !f.check {
		return errors.New("--fetch needs --check: rendered/ has to be the same for everybody, so fetch charts into " +
			"the repository with render fetch --vendor, and render then")
	}
	root := f.root
	if f.since != "" || f.check && f.staged {
		remove, err := f.readGit(cmd.Context(), &root)
		if err != nil {
			return err
		}
		defer remove()
	}
	from := opening{root: root, base: f.since, lock: lock, look: look, memo: f.memo}
	if root != f.root {
		from.copyOf = cmp.Or(f.root, ".")
	}
	return f.inRepository(cmd, kinds, from, func(repository *render.Repository, p *progress) error {
		if f.output == "github" {
			folder := folderInWorkspace(repository.Dir())
			ending.report(func(problem manifest.Problem) {
				printAnnotation(raw(cmd.OutOrStdout()), problem, folder)
			})
		}
		return updateRendered(cmd, repository, f, p)
	})
}

// updateRendered renders environments and, without --check, writes them. All steps that can fail, printing
// the report included, precede the first change.
func updateRendered(cmd *cobra.Command, repository *render.Repository, f flags, p *progress) error {
	ctx := cmd.Context()
	var interrupted *interruption
	if !f.check {
		if err := f.checkSelection(repository); err != nil {
			return err
		}
		f.Written = true
		ctx, interrupted = interruptible(cmd, p)
		defer interrupted.end()
	}
	update, err := render.NewUpdate(ctx, repository, f.Selection, p.stepOf)
	if err != nil {
		return err
	}
	defer update.Close()
	warnOfLineEnds(ctx, repository, update)
	if f.strict {
		update.Strict(f.check)
	}
	if !f.check && !update.Failed() {
		p.step("writing")
		if err := interrupted.stage(ctx, cmd, update); err != nil {
			return err
		}
	}
	p.stop()
	update.Fetched = f.all()
	if err := printUpdate(cmd, repository, update, f); err != nil {
		return fmt.Errorf("nothing was changed: print report: %w", err)
	}
	printRenderCommand(cmd.OutOrStdout(), cmd.ErrOrStderr(), update, f)
	printCoverage(cmd.ErrOrStderr(), update.Coverage())
	if f.check || update.Failed() {
		return checkResult(cmd.ErrOrStderr(), update, f.requireCoverage)
	}
	if err := update.Commit(); err != nil {
		return err
	}
	err = adviseToAdd(cmd, repository, update, f)
	if err == nil && f.staged && len(update.Orphans) > 0 { // a check fails, too
		err = exitCode(exitDiffers)
	}
	return err
}

// checkSelection returns an error if a selected environment is rendered nowhere or, without a selection, if all are:
// with the names of these, and the commands for them.
func (f selected) checkSelection(repository *render.Repository) error {
	if f.All || len(f.Names) > 0 || f.Changed != nil {
		return repository.CheckRendered(f.Selection)
	}
	names, err := repository.Environments()
	if err != nil || len(names) == 0 || !render.IsFolder(names[0]) { // own environments come first
		return err
	}
	return fmt.Errorf("found %s: which command? try\n"+
		"  render --all --check       to see what a cluster would refuse\n"+
		"  render diff --base main    to see what your branch changes in each cluster\n"+
		"  render coverage            to see what is not judged, and why", manifest.FirstOf(3, names))
}

// checkResult returns the exit code of an update that is not written.
func checkResult(errOut io.Writer, update *render.Update, requireCoverage bool) error {
	switch {
	case update.Failed():
		return exitCode(exitError)
	case requireCoverage && len(update.Coverage().NotJudged) > 0:
		fmt.Fprintln(errOut, "not everything is judged: render coverage lists the rest, with the reasons")
		return exitCode(exitNotJudged)
	case update.Changes() || len(update.Orphans) > 0:
		return exitCode(exitDiffers)
	}
	return nil
}

func printUpdate(cmd *cobra.Command, repository *render.Repository, update *render.Update, f flags) error {
	r := reportUpdate(update, f.check, f.groupingOf(cmd.ErrOrStderr()))
	switch f.output {
	case "json":
		return printJSON(cmd.OutOrStdout(), r)
	case "sarif":
		return printSARIF(cmd.OutOrStdout(), r, folderInWorkspace(repository.Dir()))
	case "github":
		return printGitHub(cmd.OutOrStdout(), r, folderInWorkspace(repository.Dir()))
	}
	return printReport(cmd.OutOrStdout(), cmd.ErrOrStderr(), r)
}

// opening has the options of opening a repository.
type opening struct {
	root   string // of --root, or empty
	copyOf string // the folder in git, if root is a copy of its index
	base   string // the revision that a change is made from, if a flag names one
	lock   func(*render.Repository, context.Context) (unlock func(), err error)
	look   func(name string) // see render.Options, as memo
	memo   *memo.Memo
}

// inRepository opens a repository, takes the lock, if any, and calls do. The progress shows until do stops
// it or returns. Help, version and completion skip the slow check of the kinds here.
func inRepository(cmd *cobra.Command, kinds *registry.Kinds, o opening,
	do func(*render.Repository, *progress) error) error {
	if err := kinds.Check(); err != nil {
		return err
	}
	p := newProgress(cmd.ErrOrStderr(), "opening the repository")
	defer p.stop()
	ending.stops(p)
	dir, err := findRepository(o.root)
	if err != nil {
		return err
	}
	origin, end := originOf(cmd.Context(), cmp.Or(o.copyOf, dir), o.base)
	defer end()
	repository, err := render.Open(dir, kinds, render.Options{ // it may read all files to find entries
		Now: time.Now(), Look: o.look, Memo: o.memo,
		IsLeftOut: git.LeftOutOf(cmd.Context(), dir, tree.EnvironmentsFolder), Origin: origin,
	})
	if err != nil {
		return err
	}
	defer repository.Close()
	if o.lock != nil {
		waiting := time.AfterFunc(setup.Patience, func() { p.step("waiting for another run") })
		unlock, err := o.lock(repository, cmd.Context())
		waiting.Stop()
		if err != nil {
			return err
		}
		defer unlock()
	}
	return do(repository, p)
}

// inRepository is inRepository with what the repository fetches.
func (f *fetching) inRepository(cmd *cobra.Command, kinds *registry.Kinds, o opening,
	do func(*render.Repository, *progress) error) error {
	return inRepository(cmd, kinds, o, func(repository *render.Repository, p *progress) error {
		repository, end, err := f.open(cmd, repository, o.base, p)
		if err != nil {
			return err
		}
		defer end()
		return do(repository, p)
	})
}

// originOf returns the facts of git about the place of a folder, at the first call and until end. A change from a base
// is to become the branch of that name.
func originOf(ctx context.Context, dir, base string) (origin func() application.Origin, end func()) {
	var opened atomic.Pointer[git.Origin]
	origin = sync.OnceValue(func() application.Origin {
		o, err := git.OriginOf(ctx, dir, base)
		opened.Store(o)
		facts := application.Origin{URLs: o.URLs, IsOther: o.IsOther}
		facts.At = func(revision string) (source.Revision, string, error) { return o.At(ctx, revision) }
		if err != nil {
			facts.Unknown = err.Error()
		}
		return facts
	})
	return origin, func() {
		if o := opened.Load(); o != nil {
			o.Close()
		}
	}
}

// openRepository opens the repository at root or, if root is empty, the nearest one at or above the
// working folder: the folder with environments/, or the top of a git repository.
func openRepository(root string, kinds *registry.Kinds) (*render.Repository, error) {
	dir, err := findRepository(root)
	if err != nil {
		return nil, err
	}
	return render.Open(dir, kinds, render.Options{})
}

// findRepository returns the folder that openRepository opens.
func findRepository(root string) (dir string, err error) {
	if root != "" {
		return root, nil
	}
	if dir, err = render.FindRoot("."); err == nil {
		return dir, nil
	}
	in, notFound := openGit(context.Background(), ".")
	switch {
	case notFound == nil: // perhaps with entries
		return in.Top().Dir(), nil
	case errors.Is(notFound, git.ErrMissing):
		return "", fmt.Errorf("%w, or name the folder of the repository with --root: %w", notFound, err)
	}
	return "", err
}
