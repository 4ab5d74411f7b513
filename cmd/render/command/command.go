package command

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
)

// The exit codes are those of `kubectl diff` and `diff`.
const (
	exitDiffers = 1
	exitError   = 2
)

// exitCode ends the program without another word.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// outputs are the forms in which a report is printed.
var outputs = []string{"text", "json", "github"}

type flags struct {
	render.Selection
	root    string
	check   bool
	strict  bool
	watch   bool
	output  string
	version bool
}

// newCommand is the program for kinds. Args are the command line, as far as it is known
// before it is parsed.
func newCommand(kinds *registry.Kinds, args []string) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "render (--env NAME... | --all)",
		Short: "Write the manifests of environments",
		Long: `Render builds environments/NAME with kustomize, expands each object in it that is
` + kinds.String() + `, checks everything as the API server would, and
writes one object a file to rendered/NAME, for Argo CD or Flux to sync.

What the API server accepts, and may yet not be what was meant, is a warning.

With --watch it renders again within half a second of each change, until Ctrl-C. What
is edited in rendered/ itself is undone with the next change. Where files change
without the system telling, as in some network file systems and in containers of
macOS and Windows, it does not notice: render there without --watch.

Exit codes: 0 done, or with --check nothing to do; 1 with --check, rendered/ is
not what rendering would write, or has files that no index lists; 2 error, and
then no file was changed, unless the error says which were, as when the disk
fails: rendering again completes that. --watch ends with 130 at Ctrl-C, and with
143 where it is terminated.`,
		Example: `  # Write rendered/prod
  render --env prod

  # While editing: render on each change
  render --env prod --watch

  # In CI: fail with a diff unless what is committed is what is rendered
  render --all --check

  # In a workflow of GitHub: errors and warnings show in the pull request
  render --all --check -o github

  # The files that were written, for a script
  render --env dev --env staging -o json | jq -r '.environments[].written[]'`,
		Args:          func(cmd *cobra.Command, args []string) error { return unknownCommand(cmd, args, f.root) },
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return runRender(cmd, f) },

		SuggestionsMinimumDistance: 2,
	}
	addSelectionFlags(cmd, &f.Selection, "an environment to render: a folder of environments/ (repeatable)", "render every environment, and prune those that are gone")
	addRootFlag(cmd, &f.root)
	cmd.Flags().BoolVar(&f.check, "check", false, "write nothing; print a diff and exit 1 if rendered/ is not up to date")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "make each warning an error"+aboutAts(kinds, "; that an At is past is one which comes with time"))
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "render again on each change of what was rendered, until Ctrl-C")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text, json or github: errors and warnings as annotations of a workflow")
	cmd.Flags().BoolVar(&f.version, "version", false, "print the version, as the command version does")
	cmd.SetFlagErrorFunc(wrongFlag)
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputs, cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(newInitCommand(), newNewCommand(kinds, args), newDiffCommand(kinds), newExplainCommand(), newPublishCommand(), newSyncCommand(), newApplyCommand(kinds), newDeleteCommand(kinds), newVersionCommand())
	return cmd
}

func runRender(cmd *cobra.Command, f flags) error {
	if err := checkOutput(f.output, outputs); err != nil {
		return err
	}
	if f.version {
		return printVersion(cmd.OutOrStdout(), f.output)
	}
	if err := checkSelection(f.Selection, f.root); err != nil {
		return err
	}
	if f.watch {
		return watchEnvironments(cmd, f)
	}
	p := newProgress(cmd.ErrOrStderr(), "opening the repository")
	defer p.stop()
	repository, err := openRepository(cmd.Context(), f.root)
	if err != nil {
		return err
	}
	defer repository.Close()
	return renderOnce(cmd, repository, f, p)
}

// renderOnce renders environments while nobody else does.
func renderOnce(cmd *cobra.Command, repository *render.Repository, f flags, p *progress) error {
	lock := repository.Lock
	if f.check {
		lock = repository.RLock
	} else {
		signal.Ignore(syscall.SIGPIPE) // whoever stops reading the report must not stop a run halfway
	}
	unlock, err := begin(cmd.Context(), repository, lock, p)
	if err != nil {
		return err
	}
	defer unlock()
	return updateRendered(cmd, repository, f, p)
}

// updateRendered renders environments and, but for a check, writes them: what can fail
// without a change comes first, and the report is part of that.
func updateRendered(cmd *cobra.Command, repository *render.Repository, f flags, p *progress) error {
	update, err := render.NewUpdate(cmd.Context(), repository, f.Selection, func(environment, step string) { p.step(environment + ": " + step) })
	if err != nil {
		return err
	}
	defer update.Close()
	if f.strict {
		update.Strict(f.check)
	}
	if !f.check && !update.Failed() {
		p.step("writing")
		if err := update.Stage(cmd.Context()); err != nil {
			return err
		}
	}
	p.stop()
	if err := printUpdate(cmd, repository, update, f); err != nil {
		return fmt.Errorf("nothing was changed: print report: %w", err)
	}
	printWhatToRun(cmd.OutOrStdout(), cmd.ErrOrStderr(), update, f)
	switch {
	case update.Failed():
		return exitCode(exitError)
	case f.check && (update.Changes() || len(update.Orphans) > 0):
		return exitCode(exitDiffers)
	case f.check:
		return nil
	}
	return update.Commit()
}

func printUpdate(cmd *cobra.Command, repository *render.Repository, update *render.Update, f flags) error {
	r := newReport(update, f.check)
	switch f.output {
	case "json":
		return printJSON(cmd.OutOrStdout(), r)
	case "github":
		return printGitHub(cmd.OutOrStdout(), r, folderInWorkspace(repository.Dir()))
	}
	return printReport(cmd.OutOrStdout(), cmd.ErrOrStderr(), r)
}

// begin waits for other runs, until a lock of the repository keeps them off, to render it as
// of now.
func begin(ctx context.Context, repository *render.Repository, lock func(context.Context) (unlock func(), err error), p *progress) (unlock func(), err error) {
	repository.Now = time.Now()
	p.step("waiting for another run")
	return lock(ctx)
}

// openLocked opens a repository as openRepository does, and begins to work on it; done ends
// that.
func openLocked(ctx context.Context, root string, lock func(*render.Repository, context.Context) (unlock func(), err error), p *progress) (repository *render.Repository, done func(), err error) {
	if repository, err = openRepository(ctx, root); err != nil {
		return nil, nil, err
	}
	unlock, err := begin(ctx, repository, func(ctx context.Context) (func(), error) { return lock(repository, ctx) }, p)
	if err != nil {
		repository.Close()
		return nil, nil, err
	}
	return repository, func() { unlock(); repository.Close() }, nil
}

// openRepository opens the repository in a folder or, without one, that at or above
// the working folder.
func openRepository(ctx context.Context, root string) (*render.Repository, error) {
	kinds, err := kindsOf(ctx)
	if err != nil {
		return nil, err
	}
	return openWith(root, kinds)
}

func openWith(root string, kinds *registry.Kinds) (*render.Repository, error) {
	if root == "" {
		var err error
		if root, err = render.FindRoot("."); err != nil {
			return nil, err
		}
	}
	return render.Open(root, kinds)
}

func completeEnvironments(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	root, _ := cmd.Flags().GetString("root")
	return environmentNames(root), cobra.ShellCompDirectiveNoFileComp
}

// environmentNames are the names of the environments in the repository in a folder, none
// where there is no repository.
func environmentNames(root string) []string {
	repository, err := openWith(root, nil) // names depend on no kinds
	if err != nil {
		return nil
	}
	defer repository.Close()
	names, _ := repository.Environments()
	return names
}
