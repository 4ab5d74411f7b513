package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/diff"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/review"
)

// diffOutputs are the forms in which a diff is printed.
var diffOutputs = []string{"text", "markdown", "json"}

type diffFlags struct {
	render.Selection
	root   string
	base   string
	output string
}

func newDiffCommand() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff (--env NAME... | --all | --base REVISION)",
		Short: "Show what rendering would change, object by object",
		Long: `Diff renders environments, writes nothing, and shows how their objects differ from
those in rendered/. The order of fields and how files are formatted do not count.

With --base it compares with what is committed at a revision of git, as a pull
request does: with the last commit that REVISION and HEAD have in common or, where
they have none, as with a branch that render publishes to, with REVISION itself.

KUBECTL_EXTERNAL_DIFF names a program to show differences, as for kubectl diff.

Exit codes: 0 no differences; 1 differences; over 1 error.`,
		Example: `  # What would "render --env prod" change?
  render diff --env prod

  # What does this branch change in all environments?
  render diff --base origin/main

  # The same as a comment for a pull request: first what happens to the cluster
  render diff --base origin/main -o markdown

  # In two columns
  KUBECTL_EXTERNAL_DIFF="diff -y" render diff --all`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDiff(cmd, f) },
	}
	addSelectionFlags(cmd, &f.Selection, "an environment to compare: a folder of environments/ (repeatable)", "compare every environment, and those that are gone (with --base the default)")
	addRootFlag(cmd, &f.root)
	cmd.Flags().StringVar(&f.base, "base", "", "compare with what is committed at a revision of git, as a pull request into it does")
	addOutputFlag(cmd, &f.output, diffOutputs)
	return cmd
}

func runDiff(cmd *cobra.Command, f diffFlags) error {
	if err := checkOutput(f.output, diffOutputs); err != nil {
		return err
	}
	if cmd.Flags().Changed("base") && f.base == "" {
		return errors.New("--base is empty: write a branch, a tag or a commit; in CI, look at the variable that is to have it")
	}
	f.All = f.All || f.base != "" && len(f.Names) == 0
	if err := checkSelection(f.Selection, f.root); err != nil {
		return err
	}
	p := newProgress(cmd.ErrOrStderr(), "opening the repository")
	defer p.stop()
	repository, err := openRepository(f.root)
	if err != nil {
		return err
	}
	defer repository.Close()
	unlock, err := begin(cmd.Context(), repository, repository.RLock, p)
	if err != nil {
		return err
	}
	defer unlock()
	d, err := diff.New(cmd.Context(), repository, f.Selection, f.base, func(environment, step string) { p.step(environment + ": " + step) })
	if err != nil {
		return err
	}
	p.stop()
	return printDifferences(cmd, d, repository.Now, f)
}

// printDifferences prints a diff, and ends with the exit code that says whether there is any.
func printDifferences(cmd *cobra.Command, d *diff.Diff, now time.Time, f diffFlags) error {
	out, errOut := cmd.OutOrStdout(), cmd.ErrOrStderr()
	r := report{check: true}
	for _, e := range d.Environments {
		errors, warnings := object.SplitProblems(e.Problems)
		r.Environments = append(r.Environments, environmentReport{Name: e.Name, Errors: errors, Warnings: warnings})
	}
	if err := printReport(out, errOut, r); err != nil {
		return err
	}
	program := os.Getenv("KUBECTL_EXTERNAL_DIFF")
	var err error
	switch {
	case f.output == "json":
		err = printReviewJSON(out, d, now, r)
	case f.output == "markdown":
		_, err = io.WriteString(out, comment(d, now, r, f))
	case d.Failed():
	case program != "" && d.Differs():
		return printByProgram(cmd, program, d.Changes())
	default:
		err = printDiffs(out, d.Changes())
	}
	switch {
	case err != nil:
		return fmt.Errorf("print diff: %w", err)
	case d.Failed():
		return exitCode(exitError)
	case d.Differs():
		return exitCode(exitDiffers)
	}
	return nil
}

func printDiffs(out io.Writer, changes []diff.Change) error {
	w, colored := bufio.NewWriter(out), isColored(out)
	for _, c := range changes {
		printDiff(w, c.Unified(), colored)
	}
	return w.Flush()
}

// printByProgram ends with the exit code of the program.
func printByProgram(cmd *cobra.Command, program string, changes []diff.Change) error {
	code, err := diff.External(cmd.Context(), program, changes, cmd.OutOrStdout(), cmd.ErrOrStderr())
	if err == nil && code != 0 {
		return exitCode(code)
	}
	return err
}

// reviewReport is a review, for programs.
type reviewReport struct {
	// Base is the commit that was compared with; empty where that is the work tree.
	Base string `json:"base,omitempty"`
	*review.Review
	// Errors are why there is no review of an environment.
	Errors   []object.Problem `json:"errors"`
	Warnings []object.Problem `json:"warnings"`
}

func printReviewJSON(out io.Writer, d *diff.Diff, now time.Time, r report) error {
	errors, warnings := r.problems()
	reviewed := reviewReport{d.Base, review.New(d.Environments, now), append([]object.Problem{}, errors...), append([]object.Problem{}, warnings...)}
	return printJSON(out, reviewed)
}

// The sizes of comments that hosts take, in bytes.
// https://docs.gitlab.com/administration/instance_limits/#size-of-comments-and-descriptions-of-issues-merge-requests-and-epics
const (
	gitHubComment = 65536
	gitLabComment = 1000000
)

// comment is a review as a comment for the host that runs this, GitHub where it is unknown.
func comment(d *diff.Diff, now time.Time, r report, f diffFlags) string {
	limit := gitHubComment
	if os.Getenv("GITLAB_CI") != "" {
		limit = gitLabComment
	}
	rest := fmt.Sprintf("`%s` shows all.", strings.ReplaceAll(f.command(d.Base), "`", ""))
	if d.Failed() {
		errors, _ := r.problems()
		return review.Failure(errors, limit, rest)
	}
	return review.New(d.Environments, now).Markdown(limit, rest)
}

// command is the command that shows the differences from a commit as text, in any clone: what
// HEAD^ is, depends on the clone.
func (f diffFlags) command(base string) string {
	if base == "" {
		return strings.Join(append([]string{"render", "diff"}, selectionFlags(f.Selection, f.root)...), " ")
	}
	selection := render.Selection{Names: f.Names} // the default is all
	return strings.Join(append([]string{"render", "diff", "--base", fmt.Sprintf("%.12s", base)}, selectionFlags(selection, f.root)...), " ")
}
