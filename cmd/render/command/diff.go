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

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/verbs/cluster"
	"example.com/gatehouse/render/verbs/cluster/compare"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/review"
)

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
the API server would make of each object, applied as the tool applied it before. What
the API server adds is no difference` + aboutGates(kinds, ", nor is a Pod of %s that started") + `.
A note says who set a field that a sync would set back. Objects that the tool would
prune show as removed. What SOPS encrypted is not compared, and a warning says so. You
need the rights to get, list and patch objects, and to create missing ones.

KUBECTL_EXTERNAL_DIFF names a program to show differences, as for kubectl diff.

Exit codes: 0 no differences; 1 differences; over 1 error.`,
		Example: `  # What would "render --env prod" change?
  render diff --env prod

  # What does this branch change in all environments?
  render diff --base origin/main

  # The same as a comment for a pull request: first what happens to the cluster
  render diff --base origin/main -o markdown

  # What would the next sync change in the cluster, and what would it prune?
  render diff --env prod --live

  # In two columns
  KUBECTL_EXTERNAL_DIFF="diff -y" render diff --all`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDiff(cmd, kinds, f) },
	}
	addSelectionFlags(cmd, &f.Selection, "compare the environment `NAME`, a folder of environments/ (repeatable)", "compare every environment, and those that are gone (with --base the default)")
	addRootFlag(cmd, &f.root)
	cmd.Flags().StringVar(&f.base, "base", "", "compare with what is committed at a revision of git, as a pull request into it does")
	cmd.Flags().BoolVar(&f.live, "live", false, "compare with the cluster, by dry runs")
	addClusterFlags(cmd, &f.target)
	addOutputFlag(cmd, &f.output, []string{"text", "markdown", "json"})
	return cmd
}

func runDiff(cmd *cobra.Command, kinds *registry.Kinds, f diffFlags) error {
	if cmd.Flags().Changed("base") && f.base == "" {
		return errors.New("--base is empty: write a branch, a tag or a commit; in CI, look at the variable that is to have it")
	}
	if err := checkLive(cmd, f); err != nil {
		return err
	}
	f.All = f.All || f.base != "" && len(f.Names) == 0
	return inRepository(cmd, kinds, f.root, (*render.Repository).RLock, func(repository *render.Repository, p *progress) error {
		var d *diff.Diff
		var err error
		progress := func(environment, step string) { p.step(environment + ": " + step) }
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
	})
}

// checkLive returns an error where a flag cannot be used with --live, or without it.
func checkLive(cmd *cobra.Command, f diffFlags) error {
	changed := cmd.Flags().Changed
	switch {
	case f.live && changed("base"):
		return errors.New("--live compares with a cluster, and --base with a commit: leave out one of them")
	case f.live && len(f.Names) == 0:
		return errors.New("--live compares with one cluster: write --env NAME for each environment that it has")
	case !f.live && changed("kubeconfig"), !f.live && changed("context"):
		return errors.New("--kubeconfig and --context say with which cluster to compare: write --live, too, or leave them out")
	}
	return nil
}

// diffLive compares with the cluster. It prints the warnings of the API server first.
func diffLive(cmd *cobra.Command, repository *render.Repository, f diffFlags, p *progress, progress func(environment, step string)) (*diff.Diff, error) {
	p.step("connecting to the cluster")
	var warnings bytes.Buffer
	c, err := f.target.Connect(&warnings)
	if err != nil {
		return nil, err
	}
	d, err := compare.Compare(cmd.Context(), c, repository, f.Names, progress)
	p.stop()
	fmt.Fprint(cmd.ErrOrStderr(), kind.Visible(warnings.String(), '\n'))
	return d, err
}

// printDifferences prints a diff. Its error is the exit code: whether anything differs.
func printDifferences(cmd *cobra.Command, d *diff.Diff, now time.Time, f diffFlags) error {
	out, errOut := cmd.OutOrStdout(), cmd.ErrOrStderr()
	environments := make([]environmentReport, len(d.Environments))
	for i, e := range d.Environments {
		environments[i].Errors, environments[i].Warnings = manifest.SplitProblems(e.Problems)
	}
	r := newReport(environments, nil, true)
	if err := printReport(out, errOut, r); err != nil {
		return err
	}
	program := os.Getenv("KUBECTL_EXTERNAL_DIFF")
	var err error
	switch {
	case f.output == "json":
		err = printJSON(out, reviewReport{d.Base, review.New(d.Environments, now), r.errors, r.warnings})
	case f.output == "markdown":
		_, err = io.WriteString(out, comment(d, now, r, f))
	case d.Failed():
	case program != "" && len(d.Changes()) > 0:
		return printByProgram(cmd, program, d.Changes())
	default:
		err = printDiffs(out, d)
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

func printDiffs(out io.Writer, d *diff.Diff) error {
	w, colored := bufio.NewWriter(out), isColored(out)
	for _, e := range d.Environments {
		if e.Kubernetes != nil {
			fmt.Fprintf(w, "# %s: %s\n", e.Name, e.Kubernetes)
		}
		for _, c := range e.Changes {
			printDiff(w, c.Unified(), colored)
		}
	}
	return w.Flush()
}

// printByProgram shows changes by a program, after the notes, which the program does not get. Its
// error is the exit code of the program.
func printByProgram(cmd *cobra.Command, program string, changes []diff.Change) error {
	for _, c := range changes {
		for _, note := range c.Notes {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", kind.Visible(c.Object().String()), kind.Visible(note))
		}
	}
	code, err := diff.External(cmd.Context(), program, changes, cmd.OutOrStdout(), cmd.ErrOrStderr())
	if err == nil && code != 0 {
		return exitCode(code)
	}
	return err
}

// reviewReport is a review as JSON.
type reviewReport struct {
	// Base is the commit that was compared with; empty for the work tree.
	Base string `json:"base,omitempty"`
	*review.Review
	// Errors has the reasons why there is no review of an environment.
	Errors   []manifest.Problem `json:"errors"`
	Warnings []manifest.Problem `json:"warnings"`
}

// The sizes of the longest comments that hosts accept, in bytes.
// https://docs.gitlab.com/administration/instance_limits/#size-of-comments-and-descriptions-of-issues-merge-requests-and-epics
const (
	gitHubComment = 65536
	gitLabComment = 1000000
)

// comment returns a review as a comment: for GitLab in its CI, else for GitHub.
func comment(d *diff.Diff, now time.Time, r report, f diffFlags) string {
	limit := gitHubComment
	if os.Getenv("GITLAB_CI") != "" {
		limit = gitLabComment
	}
	if d.Failed() {
		return review.Failure(r.errors, limit, f.command(d.Base))
	}
	return review.New(d.Environments, now).Markdown(limit, f.command(d.Base))
}

// command returns a command that shows the same differences. It names the commit, as HEAD^ may
// be another in another clone.
func (f diffFlags) command(base string) string {
	words, selection := []string{"render", "diff"}, f.Selection
	if base != "" {
		words = append(words, "--base", fmt.Sprintf("%.12s", base))
		selection.All = false // which is the default
	}
	words = append(words, selectionFlags(selection, f.root)...)
	if f.live {
		words = append(words, "--live")
	}
	return strings.Join(words, " ")
}
