package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/publish"
)

type publishFlags struct {
	publish.Options
	root   string
	output string
}

func newPublishCommand(kinds *registry.Kinds) *cobra.Command {
	var f publishFlags
	cmd := &cobra.Command{
		Use:   "publish --env NAME [--branch BRANCH] [--push]",
		Short: "Commit only rendered/NAME to a separate branch",
		Long: `Commit rendered/NAME from HEAD, and no other files, to a branch that Argo CD or Flux
can sync. The work tree and the index stay the same. If rendered/NAME did not change,
there is no new commit. The commit has the trailers Gatehouse-Environment,
Gatehouse-Path and Gatehouse-Source, the commit in HEAD.

Publish refuses uncommitted changes in the environment or rendered/NAME. It refuses to
publish an older commit; revert instead.

The commit has your name, is signed if commit.gpgSign is set, and runs the hook
commit-msg. --push runs the hook pre-push.

Exit codes: 0 success, or nothing to publish; 2 error. On an error no branch changes,
unless the error names one; publish again to complete it.`,
		Example: `  # Show what would be published
  render publish --env prod --dry-run

  # Commit to the branch env/prod, and push it
  render publish --env prod --push

  # Publish, and print the new commit
  render publish --env prod -o json | jq -r .commit`,
		Args: environmentsAreFlags,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPublish(cmd, kinds, f) },
	}
	addEnvironmentFlag(cmd, &f.Environment)
	_ = cmd.MarkFlagRequired("env")
	cmd.Flags().StringVar(&f.Branch, "branch", "", "the branch to commit to (default env/NAME)")
	cmd.Flags().BoolVar(&f.Push, "push", false, "push the branch to remote.pushDefault, the only remote, or origin")
	cmd.Flags().BoolVar(&f.DryRun, "dry-run", false, "show what would be published, without changing a branch")
	addRootFlag(cmd, &f.root)
	addOutputFlag(cmd, &f.output, textOrJSON)
	return cmd
}

func runPublish(cmd *cobra.Command, kinds *registry.Kinds, f publishFlags) error {
	if cmd.Flags().Changed("branch") && f.Branch == "" {
		return errors.New("--branch is empty: specify a branch, or omit it")
	}
	return inRepository(cmd, kinds, f.root, nil, func(repository *render.Repository, p *progress) error {
		defer func() { p.stop() }()
		step := func(doing string) {
			p.stop()
			if doing != "" {
				p = newProgress(cmd.ErrOrStderr(), doing)
			}
		}
		result, problems, err := publish.Run(cmd.Context(), repository, f.Options, step)
		if err != nil {
			return err
		}
		p.stop()
		if result == nil {
			found, _ := manifest.SplitProblems(problems)
			printProblems(cmd.ErrOrStderr(), found)
			return fmt.Errorf("%s, nothing was published", count(len(found), "problem"))
		}
		if f.output == "json" {
			return printJSON(cmd.OutOrStdout(), result)
		}
		return printPublished(cmd.OutOrStdout(), result)
	})
}

// printPublished prints the result on one line.
func printPublished(w io.Writer, r *publish.Result) error {
	const short = 12
	line := fmt.Sprintf("branch %s is up to date", r.Branch)
	switch {
	case r.DryRun && r.Changed:
		line = fmt.Sprintf("%s would be published to branch %s", r.Source[:short], r.Branch)
	case r.Changed:
		line = fmt.Sprintf("%s was published to branch %s as %s", r.Source[:short], r.Branch, r.Commit[:short])
	}
	switch {
	case r.Pushed && r.DryRun:
		line += ", which would be pushed to " + r.Remote
	case r.Pushed:
		line += ", which was pushed to " + r.Remote
	}
	_, err := fmt.Fprintf(w, "%s: %s\n", r.Environment, manifest.Problem{Message: line})
	return err
}
