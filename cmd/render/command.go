package main

import (
	"errors"
	"fmt"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

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
	root   string
	check  bool
	strict bool
	output string
}

func newCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "render (--env NAME... | --all)",
		Short: "Write the manifests of environments",
		Long: `Render builds environments/NAME with kustomize, expands the Memcached and At
objects in it, checks everything as the API server would, and writes one object a
file to rendered/NAME, for Argo CD or Flux to sync.

What is accepted, and may yet not be what was meant, is a warning.

Exit codes: 0 done, or with --check nothing to do; 1 with --check, rendered/ is
not what rendering would write; 2 error, and then no file was changed, unless the
error says which were, as when the disk fails: rendering again completes that.`,
		Example: `  # Write rendered/prod
  render --env prod

  # In CI: fail with a diff unless what is committed is what is rendered
  render --all --check

  # In a workflow of GitHub: errors and warnings show in the pull request
  render --all --check -o github

  # The files that were written, for a script
  render --env dev --env staging -o json | jq -r '.environments[].written[]'`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return runRender(cmd, f) },
	}
	cmd.Flags().StringArrayVarP(&f.Names, "env", "e", nil, "an environment to render: a folder of environments/ (repeatable)")
	cmd.Flags().BoolVarP(&f.All, "all", "A", false, "render every environment, and prune those that are gone")
	cmd.Flags().StringVar(&f.root, "root", "", "the folder that holds environments/ (default: the nearest at or above this one)")
	cmd.Flags().BoolVar(&f.check, "check", false, "write nothing; print a diff and exit 1 if rendered/ is not up to date")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "make each warning an error; that an At is past is one which comes with time")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text, json or github: errors and warnings as annotations of a workflow")
	cmd.MarkFlagsMutuallyExclusive("env", "all")
	_ = cmd.RegisterFlagCompletionFunc("env", completeEnvironments)
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputs, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagDirname("root")
	cmd.AddCommand(newVersionCommand())
	return cmd
}

func runRender(cmd *cobra.Command, f flags) error {
	if !slices.Contains(outputs, f.output) {
		return fmt.Errorf("--output %s: write %s", f.output, strings.Join(outputs, " or "))
	}
	if len(f.Names) == 0 && !f.All {
		return errors.New("which environment? write --env NAME, or --all")
	}
	repository, err := openRepository(f.root)
	if err != nil {
		return err
	}
	defer repository.Close()
	repository.Now = time.Now()
	p := newProgress(cmd.ErrOrStderr())
	defer p.stop()
	p.step("waiting for another run")
	lock := repository.Lock
	if f.check {
		lock = repository.RLock
	} else {
		signal.Ignore(syscall.SIGPIPE) // whoever stops reading the report must not stop a run halfway
	}
	unlock, err := lock(cmd.Context())
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
		update.Strict()
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
	switch {
	case update.Failed():
		return exitCode(exitError)
	case f.check && update.Changes():
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
		return printGitHub(cmd.OutOrStdout(), r, f.check, folderInWorkspace(repository.Dir()))
	}
	return printReport(cmd.OutOrStdout(), cmd.ErrOrStderr(), r, f.check)
}

// openRepository opens the repository in a folder or, without one, that at or above
// the working folder.
func openRepository(root string) (*render.Repository, error) {
	if root == "" {
		var err error
		if root, err = render.FindRoot("."); err != nil {
			return nil, err
		}
	}
	return render.Open(root)
}

func completeEnvironments(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	root, _ := cmd.Flags().GetString("root")
	repository, err := openRepository(root)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer repository.Close()
	names, _ := repository.Environments()
	return names, cobra.ShellCompDirectiveNoFileComp
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return errors.New("this program was built without its version")
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "render %s %s\n", info.Main.Version, info.GoVersion)
			return err
		},
	}
}
