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
	verify string
	source string
	output string
}

func newPublishCommand(kinds *registry.Kinds) *cobra.Command {
	var f publishFlags
	cmd := &cobra.Command{
		Use:   "publish --env NAME [--branch BRANCH] [--push | --verify REVISION [--source-branch BRANCH]]",
		Short: "Commit only rendered/NAME to a separate branch",
		Long: `Commit rendered/NAME from HEAD, and no other files, to a branch that Argo CD or Flux
can sync. The work tree and the index stay the same. If rendered/NAME did not change,
there is no new commit. The commit has the trailers Gatehouse-Environment,
Gatehouse-Path and Gatehouse-Source, the commit in HEAD.

Publish refuses uncommitted changes in the environment or rendered/NAME. It refuses to
publish an older commit; revert instead.

The commit has your name, is signed if commit.gpgSign is set, and runs the hook
commit-msg. --push runs the hook pre-push.

With --promoter, publish as GitOps Promoter expects it: to BRANCH-next, with the file
hydrator.metadata, and with --push a git note if nothing changed.

With --verify, publish nothing: render the source of a published commit in a temporary
folder, and list the files that differ. Use the version of render that published it. It is
an error if the source lacks a commit that was published before, or if it is not a commit
of the branch that --source-branch names.

Exit codes: 0 success, or nothing to publish; 1 files differ, with --verify; 2 error. On an
error no branch changes, unless the error names one; publish again to complete it.`,
		Example: `  # Show what would be published
  render publish --env prod --dry-run

  # Commit to the branch env/prod, and push it
  render publish --env prod --push

  # Check that the published branch is the rendering of a commit of main
  render publish --env prod --verify origin/env/prod --source-branch origin/main

  # Publish, and print the new commit
  render publish --env prod -o json | jq -r .commit`,
		Args: environmentsAreFlags,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPublish(cmd, kinds, f) },
	}
	addEnvironmentFlags(cmd, &f.Environment, &f.root)
	_ = cmd.MarkFlagRequired("env")
	cmd.Flags().StringVar(&f.Branch, "branch", "", "the branch to commit to (default env/NAME)")
	cmd.Flags().BoolVar(&f.Push, "push", false, "push the branch to remote.pushDefault, the only remote, or origin")
	cmd.Flags().BoolVar(&f.DryRun, "dry-run", false, "show what would be published, without changing a branch")
	cmd.Flags().BoolVar(&f.Promoter, "promoter", false, "publish for GitOps Promoter")
	cmd.Flags().StringVar(&f.verify, "verify", "", "compare a published `REVISION` with a rendering of its source")
	cmd.Flags().StringVar(&f.source, "source-branch", "", "with --verify, the `BRANCH` that the source must be on")
	cmd.MarkFlagsMutuallyExclusive("verify", "push")
	cmd.MarkFlagsMutuallyExclusive("verify", "branch")
	cmd.MarkFlagsMutuallyExclusive("verify", "promoter")
	cmd.MarkFlagsMutuallyExclusive("verify", "dry-run")
	addOutputFlag(cmd, &f.output, "text", "json")
	return cmd
}

func runPublish(cmd *cobra.Command, kinds *registry.Kinds, f publishFlags) error {
	if cmd.Flags().Changed("branch") && f.Branch == "" {
		return errors.New("--branch is empty: specify a branch, or omit it")
	}
	if cmd.Flags().Changed("source-branch") && (f.verify == "" || f.source == "") {
		return errors.New("--source-branch is the branch of the source of a published commit: specify both, " +
			"as in --verify origin/env/NAME --source-branch origin/main")
	}
	return inRepository(cmd, kinds, opening{root: f.root}, func(repository *render.Repository, p *progress) error {
		defer func() { p.stop() }()
		step := func(doing string) {
			p.stop()
			if doing != "" {
				p = newProgress(cmd.ErrOrStderr(), doing)
			}
		}
		if cmd.Flags().Changed("verify") {
			return runVerify(cmd, repository, f, step)
		}
		result, problems, err := publish.Run(cmd.Context(), repository, f.Options, step)
		if err != nil {
			return err
		}
		p.stop()
		if result == nil {
			return problemsError(cmd, problems, ", nothing was published")
		}
		if f.output == "json" {
			return printJSON(cmd.OutOrStdout(), result)
		}
		return printPublished(cmd.OutOrStdout(), result)
	})
}

// runVerify compares a published commit with a rendering of its source.
func runVerify(cmd *cobra.Command, repository *render.Repository, f publishFlags, step func(string)) error {
	v, problems, err := publish.Verify(cmd.Context(), repository, f.Environment, f.verify, f.source, step)
	step("")
	switch {
	case err != nil:
		return err
	case manifest.HasErrors(problems):
		return problemsError(cmd, problems, ", the source cannot be rendered")
	case f.output == "json":
		err = printJSON(cmd.OutOrStdout(), v)
	case len(v.Differences) == 0:
		source := v.Source
		if v.SourceBranch != "" {
			source += ", a commit of " + v.SourceBranch
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s is the rendering of %s\n", v.Environment, v.Commit, source)
	default:
		for _, d := range v.Differences {
			fmt.Fprintln(cmd.OutOrStdout(), manifest.Problem{File: d.File, Message: d.Reason})
		}
	}
	if err == nil && len(v.Differences) > 0 {
		return exitCode(exitDiffers)
	}
	return err
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
