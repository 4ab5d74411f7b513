package command

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/cluster"
	"example.com/gatehouse/render/diff"
	"example.com/gatehouse/render/live"
	"example.com/gatehouse/render/object"
	"example.com/gatehouse/render/review"
)

// diffOutputs are the forms in which a diff is printed.
var diffOutputs = []string{"text", "markdown", "json"}

type diffFlags struct {
	render.Selection
	root   string
	base   string
	live   bool
	target cluster.Target
	output string
}

func newDiffCommand(kinds *registry.Kinds) *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff (--env NAME... | --all | --base REVISION | --env NAME... --live)",
		Short: "Show what rendering would change, or a sync, object by object",
		Long: `Diff renders environments, writes nothing, and shows how their objects differ from
those in rendered/. The order of fields and how files are formatted do not count.

With --base it compares with what is committed at a revision of git, as a pull
request does: with the last commit that REVISION and HEAD have in common or, where
they have none, as with a branch that render publishes to, with REVISION itself.

With --live it compares with a cluster, and changes nothing there: a dry run says what
the API server would make of each object, as the tool would apply it that applied it
before. What the API server adds is no difference` + aboutAts(kinds, ", nor is a Pod of an At that started") + `.
A note says who set a field that a sync would set back. Objects are removed that the
tool would prune; those that nobody applied from git, in the Namespaces of the
environment, are shown as well, and say so. It takes the rights to get, list and patch,
and to create what is not there.

KUBECTL_EXTERNAL_DIFF names a program to show differences, as for kubectl diff.

Exit codes: 0 no differences; 1 differences; over 1 error.`,
		Example: `  # What would "render --env prod" change?
  render diff --env prod

  # What does this branch change in all environments?
  render diff --base origin/main

  # The same as a comment for a pull request: first what happens to the cluster
  render diff --base origin/main -o markdown

  # What would the next sync change in the cluster, and what has it that git has not?
  render diff --env prod --live

  # In two columns
  KUBECTL_EXTERNAL_DIFF="diff -y" render diff --all`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDiff(cmd, f) },
	}
	addSelectionFlags(cmd, &f.Selection, "an environment to compare: a folder of environments/ (repeatable)", "compare every environment, and those that are gone (with --base the default)")
	addRootFlag(cmd, &f.root)
	cmd.Flags().StringVar(&f.base, "base", "", "compare with what is committed at a revision of git, as a pull request into it does")
	cmd.Flags().BoolVar(&f.live, "live", false, "compare with the cluster, by dry runs")
	addClusterFlags(cmd, &f.target)
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
	if err := checkLive(cmd, f); err != nil {
		return err
	}
	f.All = f.All || f.base != "" && len(f.Names) == 0
	if err := checkSelection(f.Selection, f.root); err != nil {
		return err
	}
	p := newProgress(cmd.ErrOrStderr(), "opening the repository")
	defer p.stop()
	repository, done, err := openLocked(cmd.Context(), f.root, (*render.Repository).RLock, p)
	if err != nil {
		return err
	}
	defer done()
	progress := func(environment, step string) { p.step(environment + ": " + step) }
	var d *diff.Diff
	if f.live {
		d, err = diffLive(cmd, repository, f, p, progress)
	} else {
		d, err = diff.New(cmd.Context(), repository, f.Selection, f.base, progress)
	}
	if err != nil {
		return err
	}
	p.stop()
	return printDifferences(cmd, d, repository.Now, f)
}

// checkLive is the error of flags that do not go with --live, or go with nothing else.
func checkLive(cmd *cobra.Command, f diffFlags) error {
	changed := cmd.Flags().Changed
	switch {
	case f.live && changed("base"):
		return errors.New("--live compares with a cluster, and --base with a commit: leave out one of them")
	case f.live && f.All:
		return errors.New("--live compares with one cluster: write --env NAME for each environment that it has, instead of --all")
	case !f.live && changed("kubeconfig"), !f.live && changed("context"):
		return errors.New("--kubeconfig and --context say with which cluster to compare: write --live, too, or leave them out")
	}
	return nil
}

// diffLive compares with the cluster. What the API server warns of is printed before all else.
func diffLive(cmd *cobra.Command, repository *render.Repository, f diffFlags, p *progress, progress func(environment, step string)) (*diff.Diff, error) {
	p.step("connecting to the cluster")
	var warnings bytes.Buffer
	c, err := f.target.Connect(&warnings)
	if err != nil {
		return nil, err
	}
	d, err := live.New(cmd.Context(), c, repository, f.Names, progress)
	p.stop()
	for line := range strings.Lines(warnings.String()) {
		fmt.Fprintln(cmd.ErrOrStderr(), object.EscapeControls(strings.TrimSuffix(line, "\n")))
	}
	return d, err
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

// printByProgram ends with the exit code of the program, which is given no notes.
func printByProgram(cmd *cobra.Command, program string, changes []diff.Change) error {
	for _, c := range changes {
		for _, note := range c.Notes {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", object.EscapeControls(c.Object().String()), object.EscapeControls(note))
		}
	}
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
		words := append([]string{"render", "diff"}, selectionFlags(f.Selection, f.root)...)
		if f.live {
			words = append(words, "--live")
		}
		return strings.Join(words, " ")
	}
	selection := render.Selection{Names: f.Names} // the default is all
	return strings.Join(append([]string{"render", "diff", "--base", fmt.Sprintf("%.12s", base)}, selectionFlags(selection, f.root)...), " ")
}
