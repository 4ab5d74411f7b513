package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/fatih/color"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
	"example.com/gatehouse/render/watchdog"
)

// printReport prints the diff of a check, or a summary, to out, and problems to errOut.
func printReport(out, errOut io.Writer, r report) error {
	causes := r.causes()
	printCauses(errOut, causes)
	if totals := r.totals(); totals != "" {
		if isHidden(causes) {
			totals += " (--verbose lists each)"
		}
		rest, hasErrors := strings.CutPrefix(totals, "error:")
		if hasErrors {
			paint(errOut, "error:", color.FgRed)
		}
		fmt.Fprintln(errOut, rest)
	}
	w, flush := buffered(out)
	printResult(w, r)
	return flush()
}

// printResult prints the diff of a check, or a summary.
func printResult(w io.Writer, r report) {
	if !r.check {
		printSummary(w, r)
		return
	}
	for _, e := range r.Environments {
		printDiff(w, e.Diff)
	}
}

// printSummary prints the number of changed files, unless there are errors.
func printSummary(w io.Writer, r report) {
	if len(r.errors) > 0 {
		return
	}
	for _, e := range r.Environments {
		fmt.Fprintf(w, "%s: %s, %d written, %d pruned, %d unchanged", e.Name, count(e.Objects, "object"),
			len(e.Written), len(e.Pruned), len(e.Unchanged))
		if len(e.Warnings) > 0 {
			fmt.Fprintf(w, ", %s", count(len(e.Warnings), "warning"))
		}
		fmt.Fprintln(w)
	}
}

func printProblems(w io.Writer, problems []manifest.Problem) {
	printCauses(w, causesOf([]found{{problems: problems}}, each))
}

// printDiff prints a diff, in colors on a terminal.
func printDiff(w io.Writer, diff string) {
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
			paint(w, line, color.Bold)
		case strings.HasPrefix(line, "+"):
			paint(w, line, color.FgGreen)
		case strings.HasPrefix(line, "-"):
			paint(w, line, color.FgRed)
		default:
			fmt.Fprint(w, line)
		}
	}
}

// problemsError prints problems, and returns the count of the errors among them as an error, if there are any.
func problemsError(cmd *cobra.Command, problems []manifest.Problem, consequence string) error {
	printProblems(cmd.ErrOrStderr(), problems)
	if found, _ := manifest.SplitProblems(problems); len(found) > 0 {
		return errors.New(count(len(found), "problem") + consequence)
	}
	return nil
}

func count(n int, noun string) string { return string(kind.Count(int64(n), noun)) }

// progress shows the current step on a terminal.
type progress struct{ bar *progressbar.ProgressBar }

func newProgress(w io.Writer, doing string) *progress {
	watchdog.Step(doing)
	return &progress{progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(raw(w)),
		progressbar.OptionSetVisibility(isTerminal(w) && os.Getenv("TERM") != "dumb"),
		progressbar.OptionSetDescription(kind.Visible(doing)),
		progressbar.OptionSpinnerType(14),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetRenderBlankState(true), // show the first step at once
	)}
}

func (p *progress) step(doing string) {
	watchdog.Step(doing)
	p.bar.Describe(kind.Visible(doing))
}

func (p *progress) stepOf(environment, step string) { p.step(environment + ": " + step) }

// pause hides the progress while show prints something else.
func (p *progress) pause(show func()) {
	_ = p.bar.Clear()
	show()
	_ = p.bar.RenderBlank()
}

func (p *progress) stop() { _ = p.bar.Finish() }

// printRenderCommand prints the command that fixes the differences of a check.
func printRenderCommand(out, errOut io.Writer, update *render.Update, f flags) {
	if f.check && f.staged && update.Failed() && f.output == "text" {
		fmt.Fprintln(errOut, "these are errors of the index, and not of the work tree: git add may be missing")
	}
	if !f.check || update.Failed() || !update.Changes() {
		return
	}
	message := "rendered/ is not up to date: run " + f.renderCommand()
	if f.staged {
		message = "rendered/ in the index is not up to date: run " + f.renderCommand() + ", and git add " +
			quote(path.Join(f.root, tree.Folder))
	}
	if f.output == "github" {
		printAnnotation(out, manifest.Problem{Message: message}, "")
		return
	}
	fmt.Fprintln(errOut, message)
}

// plainWord matches one word of a shell that needs no quotes.
var plainWord = regexp.MustCompile(`^[-\w./:@%+=,]+$`)

func quote(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// printGitHub prints a report to the log of a workflow, with warnings and errors as annotations of files
// below folder.
// https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
func printGitHub(out io.Writer, r report, folder string) error {
	w, flush := buffered(out)
	r.by = each // an annotation each
	for _, c := range r.causes() {
		printAnnotation(w.to, c.problems[0], folder)
	}
	if totals := r.totals(); totals != "" {
		fmt.Fprintln(w, totals)
	}
	printResult(w, r)
	return flush()
}

func printAnnotation(w io.Writer, p manifest.Problem, folder string) {
	command := "error"
	if p.Warning {
		command = "warning"
	}
	var properties []string
	add := func(key, value string) {
		properties = append(properties, key+"="+strings.NewReplacer(":", "%3A", ",", "%2C").Replace(commandData(value)))
	}
	if p.File != "" {
		add("file", path.Join(folder, p.File))
	}
	if p.Line > 0 {
		add("line", fmt.Sprint(p.Line))
	}
	add("title", cmp.Or(p.Object, "render"))
	fmt.Fprintf(w, "::%s %s::%s\n", command, strings.Join(properties, ","), commandData(p.Message))
}

func commandData(text string) string {
	var data strings.Builder
	fmt.Fprint(&inert{to: &data, escape: escapeText},
		strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text))
	return data.String()
}

// folderInWorkspace returns the path of a folder relative to the workspace of a workflow, as annotations
// need it. It is empty outside of a workspace.
func folderInWorkspace(dir string) string {
	workspace, _ := filepath.EvalSymlinks(os.Getenv("GITHUB_WORKSPACE")) // if this fails, Rel fails
	folder, err := filepath.Rel(workspace, dir)
	if err != nil || !filepath.IsLocal(folder) {
		return ""
	}
	return filepath.ToSlash(folder)
}
