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
	"example.com/gatehouse/render/memo"
)

// The exit codes are those of `kubectl diff` and `diff`.
const (
	exitDiffers = 1
	exitError   = 2
)

// exitCode is an error that ends the program without a message.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

type flags struct {
	render.Selection
	root   string
	check  bool
	strict bool
	watch  bool
	output string
	memo   *memo.Memo // see render.Repository
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
		Args:          environmentsAreFlags,
		Version:       programVersions().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return runRender(cmd, kinds, f) },

		SuggestionsMinimumDistance: 2,
	}
	addSelectionFlags(cmd, &f.Selection, "render the environment `NAME`, a folder of environments/ (repeatable)", "render every environment, and prune those that no longer exist")
	addRootFlag(cmd, &f.root)
	cmd.Flags().BoolVar(&f.check, "check", false, "write nothing; print a diff and exit 1 if rendered/ is not up to date")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "make each warning an error, also those that come with time")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "render again on each change of a file that was read, until Ctrl-C")
	cmd.Flags().Bool("version", false, "print the version, as the command version does")
	cmd.SetVersionTemplate(cmd.Version)
	addOutputFlag(cmd, &f.output, []string{"text", "json", "github"})
	cmd.AddCommand(newInitCommand(kinds), newNewCommand(kinds, args), newDiffCommand(kinds), newExplainCommand(kinds), newPublishCommand(kinds), newSyncCommand(kinds), newApplyCommand(kinds), newDeleteCommand(kinds), newVersionCommand())
	return cmd
}

// environmentsAreFlags returns an error for arguments that are not commands: most of those that
// people write are environments.
func environmentsAreFlags(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "an environment is written as --env NAME"
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %q?", near[0])
	}
	return fmt.Errorf("unknown command %q for %q: %s", args[0], cmd.CommandPath(), hint)
}

func runRender(cmd *cobra.Command, kinds *registry.Kinds, f flags) error {
	if f.watch {
		return watchEnvironments(cmd, kinds, f)
	}
	return renderOnce(cmd, kinds, f, nil)
}

// renderOnce renders environments. It tells look, unless that is nil, what it reads.
func renderOnce(cmd *cobra.Command, kinds *registry.Kinds, f flags, look func(name string)) error {
	lock := (*render.Repository).RLock
	if !f.check {
		lock = (*render.Repository).Lock
		signal.Ignore(syscall.SIGPIPE) // a reader of the report that goes away must not interrupt the writes
	}
	return inRepository(cmd, kinds, f.root, lock, func(repository *render.Repository, p *progress) error {
		repository.Look, repository.Memo = look, f.memo
		return updateRendered(cmd, repository, f, p)
	})
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
	r := reportUpdate(update, f.check)
	switch f.output {
	case "json":
		return printJSON(cmd.OutOrStdout(), r)
	case "github":
		return printGitHub(cmd.OutOrStdout(), r, folderInWorkspace(repository.Dir()))
	}
	return printReport(cmd.OutOrStdout(), cmd.ErrOrStderr(), r)
}

// inRepository opens a repository and calls do, under a lock unless that is nil: it waits for other runs.
// The progress shows until do stops it or returns. Help, version and completion do not come here, and so
// do not wait for the check of the kinds.
func inRepository(cmd *cobra.Command, kinds *registry.Kinds, root string, lock func(*render.Repository, context.Context) (unlock func(), err error), do func(*render.Repository, *progress) error) error {
	if err := kinds.Check(); err != nil {
		return err
	}
	p := newProgress(cmd.ErrOrStderr(), "opening the repository")
	defer p.stop()
	repository, err := openRepository(root, kinds)
	if err != nil {
		return err
	}
	defer repository.Close()
	repository.Now = time.Now()
	if lock != nil {
		p.step("waiting for another run")
		unlock, err := lock(repository, cmd.Context())
		if err != nil {
			return err
		}
		defer unlock()
	}
	return do(repository, p)
}

// openRepository opens the repository in a folder or, where that is empty, the nearest at or above the
// working folder.
func openRepository(root string, kinds *registry.Kinds) (*render.Repository, error) {
	if root == "" {
		var err error
		if root, err = render.FindRoot("."); err != nil {
			return nil, err
		}
	}
	return render.Open(root, kinds)
}

// completeEnvironments returns the environments of the repository; none without a repository.
func completeEnvironments(cmd *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	root, _ := cmd.Flags().GetString("root")
	if repository, err := openRepository(root, nil); err == nil { // names depend on no kinds
		defer repository.Close()
		names, _ = repository.Environments()
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
