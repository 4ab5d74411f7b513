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

// exitCode is an error that ends the program without a message.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// outputs are the formats of a report.
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

// newCommand returns the program for kinds. Args are the command line before it is parsed.
func newCommand(kinds *registry.Kinds, args []string) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "render (--env NAME... | --all)",
		Short: "Write the manifests of environments",
		Long: `Render builds environments/NAME with kustomize, expands each object in it that is
` + kinds.String() + `, checks everything as the API server would, and
writes one object a file to rendered/NAME, for Argo CD or Flux to sync.

A warning is about what the API server accepts, but people may not have meant.

With --watch it renders again within half a second of each change, until Ctrl-C. The
next change undoes edits in rendered/. Some network file systems, and containers on
macOS and Windows, do not report changes: render there without --watch.

Exit codes: 0 done, or with --check nothing to do; 1 with --check, rendered/ is
not what rendering would write, or has files that no index lists; 2 error: no file
was changed, unless the error says which, as when the disk fails: rendering again
completes it. Ctrl-C ends --watch with 130.`,
		Example: `  # Write rendered/prod
  render --env prod

  # While editing: render on each change
  render --env prod --watch

  # In CI: fail with a diff unless what is committed is what is rendered
  render --all --check

  # In a GitHub workflow: show errors and warnings in the pull request
  render --all --check -o github

  # List the files that were written
  render --env dev --env staging -o json | jq -r '.environments[].written[]'`,
		Args:          func(cmd *cobra.Command, args []string) error { return unknownCommand(cmd, args, f.root) },
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return runRender(cmd, f) },

		SuggestionsMinimumDistance: 2,
	}
	addSelectionFlags(cmd, &f.Selection, "an environment to render: a folder of environments/ (repeatable)", "render every environment, and prune those that no longer exist")
	addRootFlag(cmd, &f.root)
	cmd.Flags().BoolVar(&f.check, "check", false, "write nothing; print a diff and exit 1 if rendered/ is not up to date")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "make each warning an error, also those that come with time")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "render again on each change of a file that was read, until Ctrl-C")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text, json, or github for annotations of a workflow")
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

// renderOnce renders environments under the lock of the repository.
func renderOnce(cmd *cobra.Command, repository *render.Repository, f flags, p *progress) error {
	lock := repository.Lock
	if f.check {
		lock = repository.RLock
	} else {
		signal.Ignore(syscall.SIGPIPE) // a reader of the report that goes away must not interrupt the writes
	}
	unlock, err := begin(cmd.Context(), repository, lock, p)
	if err != nil {
		return err
	}
	defer unlock()
	return updateRendered(cmd, repository, f, p)
}

// updateRendered renders environments and, unless it only checks, writes them. All that can fail comes
// before the first change, printing the report included.
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

// begin takes a lock of the repository, which waits for other runs, and sets the time to render at.
func begin(ctx context.Context, repository *render.Repository, lock func(context.Context) (unlock func(), err error), p *progress) (unlock func(), err error) {
	repository.Now = time.Now()
	p.step("waiting for another run")
	return lock(ctx)
}

// openLocked opens a repository and takes a lock of it; done releases both.
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

// openRepository opens the repository in a folder or, where that is empty, the nearest at or above the
// working folder.
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

// environmentNames returns the environments of the repository in a folder; none without a repository.
func environmentNames(root string) []string {
	repository, err := openWith(root, nil) // names depend on no kinds
	if err != nil {
		return nil
	}
	defer repository.Close()
	names, _ := repository.Environments()
	return names
}
