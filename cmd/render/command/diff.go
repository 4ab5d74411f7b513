package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/kind/registry"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/compare"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/review"
	"example.com/gatehouse/render/verbs/cluster"
	"example.com/gatehouse/render/verbs/cluster/live"
	"example.com/gatehouse/render/verbs/diff"
	"example.com/gatehouse/render/verbs/page"
)

type diffFlags struct {
	selected
	fetching
	base    string
	against string
	live    bool
	target  cluster.Target
	// link is the URL of a page that the comment leads to.
	link string
	// requireRoutine makes differences that are not routine another exit code.
	requireRoutine bool
}

func newDiffCommand(kinds *registry.Kinds) *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff (--env NAME... | --all | --base REVISION | --env NAME --against NAME | --env NAME... --live)",
		Short: "Show what rendering or a sync would change, object by object",
		Long: `Render environments without writing them, and show how their objects differ from
rendered/. The order of fields and the format of files do not matter.

With --base, compare with a commit in git, as a pull request does: the merge base of
REVISION and HEAD or, if they share no history, REVISION itself. The output begins with
other changed files, such as workflows, and rendered files that are not up to date. With
--fetch, the registries that the base names are asked for new images.

With --against, show what would change in another environment if this one were promoted to it.
Names and namespaces that the kustomizations at the same place of both environments set are
no differences.

With --live, compare with a cluster by server-side dry runs, which change nothing. They
apply each object as the tool did before, so defaults and other additions of the API
server are not differences.` + aboutGates(kinds, " A started Pod of %s is not compared.") + `
A note names the field manager of each field that a sync would reset. Objects that the
tool would prune show as removed. Objects of followed folders are compared as well. Objects
encrypted by SOPS, objects of charts that Flux or Argo CD installs, and those with variables
whose values only the cluster has are skipped with a warning.
You need the rights to get, list and patch objects, and to create missing ones.

KUBECTL_EXTERNAL_DIFF selects your own diff program, as for kubectl diff.

Exit codes: 0 no differences; 1 differences; greater than 1 error. With --require-routine:
0 no differences, or only those whose effect a rule knows; 3 others. The last line on stderr
has the reasons.`,
		Example: `  # Show what "render --env prod" would change
  render diff --env prod

  # Show what this branch changes in all environments
  render diff --base origin/main

  # Print a pull request comment that begins with the effects on clusters
  render diff --base origin/main -o markdown

  # Write all effects and diffs as a page, with a picture of the deliveries
  render diff --base origin/main -o html > gatehouse.html

  # Show what promoting staging to prod would change
  render diff --env staging --against prod

  # Show what the next sync would change and prune in the cluster
  render diff --env prod --live

  # Show the differences side by side
  KUBECTL_EXTERNAL_DIFF="diff -y" render diff --all`,
		Args: environmentsAreFlags,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDiff(cmd, kinds, f) },
	}
	f.selected.addFlags(cmd, "compare", ", including removed ones (the default with --base)", "text", "markdown",
		"html", "json")
	f.addVerboseFlag(cmd)
	cmd.Flags().StringVar(&f.base, "base", "", "compare with a git `REVISION`, as a pull request into it does")
	_ = cmd.RegisterFlagCompletionFunc("base", completeRevisions)
	cmd.Flags().StringVar(&f.against, "against", "", "compare with another environment, a folder of environments/")
	_ = cmd.RegisterFlagCompletionFunc("against", completeEnvironments)
	cmd.Flags().BoolVar(&f.live, "live", false, "compare with the cluster, by server-side dry runs")
	cmd.Flags().BoolVar(&f.requireRoutine, "require-routine", false,
		"exit with 3 unless all effects are known, such as a new version of an image")
	cmd.Flags().Func("link",
		"with -o markdown, end the comment with a link to the `URL` of the page that -o html wrote",
		func(url string) error {
			if !pageURL.MatchString(url) {
				return errors.New("write an http or https URL")
			}
			f.link = url
			return nil
		})
	f.fetching.addFlags(cmd)
	addClusterFlags(cmd, &f.target)
	return cmd
}

func runDiff(cmd *cobra.Command, kinds *registry.Kinds, f diffFlags) error {
	if cmd.Flags().Changed("base") && f.base == "" {
		return errors.New(
			"--base is empty: specify a branch, a tag or a commit; in CI, check the variable that you pass")
	}
	if f.link != "" && f.output != "markdown" {
		return errors.New("--link is for a comment: add -o markdown, or omit it")
	}
	if err := checkComparison(cmd, f); err != nil {
		return err
	}
	f.All = f.All || f.base != "" && len(f.Names) == 0
	return f.inRepository(cmd, kinds, opening{root: f.root, base: f.base, lock: (*render.Repository).RLock},
		func(repository *render.Repository, p *progress) error {
			var d *compare.Diff
			var err error
			switch {
			case f.live:
				d, err = diffLive(cmd, repository, f, p)
			case f.against != "":
				d, err = diff.Against(repository, f.Names[0], f.against, p.stepOf)
			default:
				if f.base == "" {
					err = f.checkSelection(repository)
					f.Written = true
				}
				if err == nil {
					d, err = diff.Run(cmd.Context(), repository, f.Selection, f.base, p.stepOf)
				}
			}
			if err != nil {
				return err
			}
			d = f.askForImages(cmd.ErrOrStderr(), d, p)
			p.stop()
			return printDifferences(cmd, d, repository.Now(), f)
		})
}

// pageURL matches a URL that cannot end a link of Markdown.
var pageURL = regexp.MustCompile(`^https?://[-\w./:%?&=~+@,#]+$`)

// checkComparison checks the combination of the flags that say with what to compare.
func checkComparison(cmd *cobra.Command, f diffFlags) error {
	changed := cmd.Flags().Changed
	switch {
	case f.live && changed("base"):
		return errors.New("--live compares with a cluster, and --base with a commit: omit one of them")
	case changed("against") && (f.live || changed("base")):
		return errors.New("--against compares with an environment: omit --base and --live")
	case changed("against") && (len(f.Names) != 1 || f.against == "" || f.against == f.Names[0]):
		return errors.New("--against compares two environments: specify one with --env NAME, and another with " +
			"--against NAME")
	case f.live && len(f.Names) == 0:
		return errors.New("--live compares with one cluster: specify its environments with --env NAME")
	case !f.live && changed("kubeconfig"), !f.live && changed("context"):
		return errors.New("--kubeconfig and --context need --live: add it, or omit them")
	}
	return nil
}

func diffLive(cmd *cobra.Command, repository *render.Repository, f diffFlags, p *progress) (*compare.Diff, error) {
	p.step("connecting to the cluster")
	var warnings bytes.Buffer
	c, err := f.target.Connect(&warnings)
	if err != nil {
		return nil, err
	}
	d, err := live.Compare(cmd.Context(), c, repository, f.Names, p.stepOf)
	p.stop()
	fmt.Fprint(cmd.ErrOrStderr(), warnings.String())
	return d, err
}

// printDifferences prints a diff. It returns the exit code as an error.
func printDifferences(cmd *cobra.Command, d *compare.Diff, now time.Time, f diffFlags) error {
	out := cmd.OutOrStdout()
	errOut := cmd.ErrOrStderr()
	r := newReport(foundIn(d), true, f.groupingOf(errOut))
	r.isDiff = true
	r.notCompared = slices.ContainsFunc(d.Environments, func(c *compare.Comparison) bool { return c.NotCompared })
	if err := printReport(out, errOut, r); err != nil {
		return err
	}
	coverage := coverageOf(d)
	coverage.Fetched = f.all()
	if !f.live {
		printCoverage(errOut, coverage)
	}
	program := os.Getenv("KUBECTL_EXTERNAL_DIFF")
	reviewed := sync.OnceValue(func() *review.Review { return review.New(d, now) })
	var err error
	switch {
	case f.output == "json":
		err = printJSON(out, reviewReport{d.Base, d.Against, reviewed(), routine(reviewed(), d), coverage, r.errors,
			r.warnings})
	case f.output == "markdown":
		_, err = io.WriteString(out, comment(reviewed(), d, r, f))
	case f.output == "html":
		err = page.Write(raw(out), d, reviewed(), r.errors, f.command(d.Base))
	case program != "" && !f.requireRoutine && len(d.Changes()) > 0 && !d.Failed():
		printFrame(errOut, d.Frame, func(compare.Change) {})
		return printByProgram(cmd, program, d.Changes())
	default:
		err = printDiffs(out, d, reviewed())
	}
	switch {
	case err != nil:
		return fmt.Errorf("print diff: %w", err)
	case d.Failed():
		return exitCode(exitError)
	case f.requireRoutine:
		return requireRoutine(errOut, reviewed().Routine())
	case d.Differs():
		return exitCode(exitDiffers)
	}
	return nil
}

// requireRoutine prints whether a change is routine, and why. It returns the exit code as an error.
func requireRoutine(errOut io.Writer, r review.Routine) error {
	against := strings.Join(r.Against, ", ")
	if against != "" {
		against = ": " + kind.Visible(against)
	}
	fmt.Fprintf(errOut, "routine: %t, %s%s\n", r.IsRoutine, strings.Join(r.Reasons, ", "), against)
	if !r.IsRoutine {
		return exitCode(exitNotRoutine)
	}
	return nil
}

func foundIn(d *compare.Diff) (all []found) {
	for _, e := range d.Environments {
		all = append(all, found{e.Name, e.Problems})
	}
	return all
}

// routine says whether a change is routine. One that does not render is not.
func routine(r *review.Review, d *compare.Diff) review.Routine {
	if d.Failed() {
		return review.Routine{Reasons: []string{"errors"}}
	}
	return r.Routine()
}

// printDiffs prints the diff of the frame, and of the environments.
func printDiffs(out io.Writer, d *compare.Diff, r *review.Review) error {
	w, flush := buffered(out)
	printFrame(w, d.Frame, func(c compare.Change) { printDiff(w, c.Unified()) })
	for _, part := range r.Text() {
		for _, line := range part.Lines {
			paint(w, "# "+line+"\n", color.Bold)
		}
		printDiff(w, part.Diff)
	}
	if sentence := r.Sentence(); sentence != "" && !d.Failed() {
		fmt.Fprintln(w, "# "+sentence)
	}
	return flush()
}

// printFrame prints changes of the frame as comments of a diff, each before the changes of its objects.
func printFrame(w io.Writer, frame []compare.FrameChange, printObject func(compare.Change)) {
	var others []string
	for _, c := range frame {
		if c.Risk == "" {
			others = append(others, c.File)
			continue
		}
		fmt.Fprintf(w, "# %s: %s: %s\n", kind.Visible(c.File), c.Action, c.Risk.Plain())
		for _, object := range c.Changes() {
			printObject(object)
		}
	}
	if len(others) > 0 {
		fmt.Fprintf(w, "# %s changed: %s\n", kind.Count(int64(len(others)), "other file"),
			compare.SayFiles(others).Plain())
	}
}

// printByProgram prints the notes and runs an external diff program. It returns the exit code of the
// program as an error.
func printByProgram(cmd *cobra.Command, program string, changes []compare.Change) error {
	for _, c := range changes {
		for _, note := range c.Notes {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", kind.Visible(c.Object().String()), kind.Visible(note))
		}
	}
	code, err := diff.External(cmd.Context(), program, changes, forProgram(cmd.OutOrStdout()),
		forProgram(cmd.ErrOrStderr()))
	if err == nil && code != 0 {
		return exitCode(code)
	}
	return err
}

// forProgram returns a terminal itself, for the colors and pages of the user's own program, and any other writer as it
// is.
func forProgram(w io.Writer) io.Writer {
	if isTerminal(w) {
		return raw(w)
	}
	return w
}

// reviewReport is a review as JSON.
type reviewReport struct {
	// Base is the commit of the comparison, or empty for the work tree.
	Base string `json:"base,omitempty"`
	// Against is the other environment, if the comparison has one.
	Against string `json:"against,omitempty"`
	*review.Review
	// Routine says whether the change has known effects alone, and why.
	Routine review.Routine `json:"routine"`
	// Coverage counts the judged objects, and lists the rest.
	Coverage render.Coverage `json:"coverage"`
	// Errors has the errors of environments that do not render.
	Errors   []manifest.Problem `json:"errors"`
	Warnings []manifest.Problem `json:"warnings"`
}

// gitHubComment is the longest comment that GitHub accepts, in bytes. Forgejo gets the same.
const gitHubComment = 65536

// commentLimits are the limits of other hosts, by a variable that their CI sets.
// https://docs.gitlab.com/administration/instance_limits
var commentLimits = map[string]int{"GITLAB_CI": 1000000, "BITBUCKET_BUILD_NUMBER": 32767, "TF_BUILD": 150000}

// comment returns a review as a comment for the host of this CI, by default GitHub.
func comment(reviewed *review.Review, d *compare.Diff, r report, f diffFlags) string {
	limit := gitHubComment
	for variable, bytes := range commentLimits {
		if os.Getenv(variable) != "" {
			limit = bytes
		}
	}
	isNew := func(p manifest.Problem) bool { return p.Code != manifest.OldError }
	old := review.OldErrors(slices.DeleteFunc(slices.Clone(r.warnings), isNew), limit/4)
	if f.link != "" {
		old += "\n[All rows and diffs as a page](" + f.link + ")\n"
	}
	limit -= len(old)
	if d.Failed() {
		return reviewed.Failure(r.errors, limit, f.command(d.Base)) + old
	}
	return reviewed.Markdown(limit, f.command(d.Base)) + old
}

// command returns a command that shows the same differences in any clone, where revisions like HEAD^
// may differ.
func (f diffFlags) command(base string) string {
	words := []string{"render", "diff"}
	if base != "" {
		words = append(words, "--base", fmt.Sprintf("%.12s", base))
		f.All = false // the default with --base
	}
	words = append(words, f.words()...)
	if f.live {
		words = append(words, "--live")
	}
	if f.against != "" {
		words = append(words, "--against", f.against)
	}
	return strings.Join(words, " ")
}
