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
		Short: "Commit rendered/NAME, and nothing else, to a branch of its own",
		Long: `Publish commits rendered/NAME as it is in HEAD to a branch that has nothing else, for
Argo CD or Flux to sync. It touches neither work tree nor index, and makes no commit
where nothing changed. The trailers of the commit are Gatehouse-Environment,
Gatehouse-Path and Gatehouse-Source, which is the commit in HEAD.

It fails where the environment or what it renders to is not committed. It never goes
back behind what was published: revert commits, and publish the result.

The commit is made as git commit makes one: with your name, signed where
commit.gpgSign is set, and by the hook commit-msg; pushing runs the hook pre-push.

Exit codes: 0 done, or nothing to do; 2 error: no branch was changed, unless the error
says which, and publishing again completes it.`,
		Example: `  # Show what would be published
  render publish --env prod --dry-run

  # Commit to the branch env/prod, here and at the remote
  render publish --env prod --push

  # Publish, and print the commit of the branch
  render publish --env prod -o json | jq -r .commit`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPublish(cmd, kinds, f) },
	}
	addEnvironmentFlag(cmd, &f.Environment)
	_ = cmd.MarkFlagRequired("env")
	cmd.Flags().StringVar(&f.Branch, "branch", "", "the branch to commit to (default env/NAME)")
	cmd.Flags().BoolVar(&f.Push, "push", false, "push the branch to remote.pushDefault, the only remote, or origin")
	cmd.Flags().BoolVar(&f.DryRun, "dry-run", false, "print what would be published, and change no branch")
	addRootFlag(cmd, &f.root)
	addOutputFlag(cmd, &f.output, textOrJSON)
	return cmd
}

func runPublish(cmd *cobra.Command, kinds *registry.Kinds, f publishFlags) error {
	if cmd.Flags().Changed("branch") && f.Branch == "" {
		return errors.New("--branch is empty: write the name of a branch, or leave it out")
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
