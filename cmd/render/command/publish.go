package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/publish"
)

type publishFlags struct {
	publish.Options
	names  []string
	root   string
	output string
}

func newPublishCommand() *cobra.Command {
	var f publishFlags
	cmd := &cobra.Command{
		Use:   "publish --env NAME [--branch BRANCH] [--push]",
		Short: "Commit rendered/NAME, and nothing else, to a branch of its own",
		Long: `Publish commits rendered/NAME as it is in HEAD to a branch that has nothing else, for
Argo CD or Flux to sync. It touches neither work tree nor index, and makes no commit
where nothing changed. The trailers of the commit say what was published:
Gatehouse-Environment, Gatehouse-Path and Gatehouse-Source, the commit in HEAD.

It refuses what is not committed, and what is not rendered from what is. It never
goes back behind what was published: revert commits, and publish the result.

The commit is made as git commit makes one: with your name, signed where
commit.gpgSign is set, and by the hook commit-msg; pushing runs the hook pre-push.

Exit codes: 0 done, or nothing to do; 2 error, and then no branch was changed, unless
the error says which was: publishing again completes that.`,
		Example: `  # What would be published?
  render publish --env prod --dry-run

  # Commit to the branch env/prod, here and at the remote
  render publish --env prod --push

  # The commit, for a script
  render publish --env prod -o json | jq -r .commit`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPublish(cmd, f) },
	}
	cmd.Flags().StringArrayVarP(&f.names, "env", "e", nil, "the environment to publish: a folder of environments/")
	_ = cmd.RegisterFlagCompletionFunc("env", completeEnvironments)
	cmd.Flags().StringVar(&f.Branch, "branch", "", "the branch to commit to (default env/NAME)")
	cmd.Flags().BoolVar(&f.Push, "push", false, "push the branch to remote.pushDefault, the only remote, or origin")
	cmd.Flags().BoolVar(&f.DryRun, "dry-run", false, "say what would be done, and do nothing")
	addRootFlag(cmd, &f.root)
	addOutputFlag(cmd, &f.output, textOrJSON)
	return cmd
}

func runPublish(cmd *cobra.Command, f publishFlags) error {
	if err := checkOutput(f.output, textOrJSON); err != nil {
		return err
	}
	var err error
	if f.Environment, err = oneEnvironment(f.names, f.root); err != nil {
		return err
	}
	if cmd.Flags().Changed("branch") && f.Branch == "" {
		return errors.New("--branch is empty: write the name of a branch, or leave it out")
	}
	p := &calmProgress{w: cmd.ErrOrStderr()}
	defer p.stop()
	repository, err := openRepository(cmd.Context(), f.root)
	if err != nil {
		return err
	}
	defer repository.Close()
	result, problems, err := publish.Run(cmd.Context(), repository, f.Options, p.step)
	if err != nil {
		return err
	}
	p.stop()
	if result == nil {
		found, _ := object.SplitProblems(problems)
		printProblems(cmd.ErrOrStderr(), found)
		return fmt.Errorf("%s, nothing was published", count(len(found), "problem"))
	}
	if f.output == "json" {
		return printJSON(cmd.OutOrStdout(), result)
	}
	return printPublished(cmd.OutOrStdout(), result)
}

// calmProgress is progress that leaves the terminal to whoever may ask for a password there.
type calmProgress struct {
	w io.Writer
	*progress
}

func (p *calmProgress) step(doing string, mayAsk bool) {
	switch {
	case mayAsk:
		p.stop()
		if isTerminal(p.w) {
			fmt.Fprintln(p.w, doing)
		}
	case p.progress == nil:
		p.progress = newProgress(p.w, doing)
	default:
		p.progress.step(doing)
	}
}

func (p *calmProgress) stop() {
	if p.progress != nil {
		p.progress.stop()
		p.progress = nil
	}
}

// printPublished prints what was done on one line.
func printPublished(w io.Writer, r *publish.Result) error {
	const short = 12
	line := fmt.Sprintf("branch %s is up to date", r.Branch)
	switch {
	case r.SupersededBy != "":
		line = fmt.Sprintf("superseded: meanwhile branch %s got what the later commit %s renders to", r.Branch, r.SupersededBy[:short])
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
	_, err := fmt.Fprintf(w, "%s: %s\n", r.Environment, object.Problem{Message: line})
	return err
}
