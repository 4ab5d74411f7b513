package command

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
)

// printGitHub prints a report to the log of a workflow, with warnings and errors as annotations of files
// below folder.
// https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
func printGitHub(out io.Writer, r report, folder string) error {
	w := bufio.NewWriter(out)
	for _, p := range r.problems() {
		printAnnotation(w, p, folder)
	}
	if totals := r.totals(); totals != "" {
		fmt.Fprintln(w, totals)
	}
	if r.check {
		printInert(w, r)
	} else {
		printSummary(w, r)
	}
	return w.Flush()
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

// commandData escapes text for the data of a workflow command.
func commandData(text string) string {
	return kind.Visible(strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text))
}

// printInert prints the diffs of a report so that GitHub does not run their lines as commands.
func printInert(w io.Writer, r report) {
	var diff strings.Builder
	for _, e := range r.Environments {
		diff.WriteString(e.Diff)
	}
	if diff.Len() == 0 {
		return
	}
	token := fmt.Sprintf("%x", sha256.Sum256([]byte(diff.String()))) // no line of the diff can contain it
	fmt.Fprintf(w, "::stop-commands::%s\n%s::%s::\n", token, diff.String(), token)
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
