package command

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"example.com/gatehouse/render/manifest"
)

// printGitHub prints a report to the log of a workflow, with warnings and errors as annotations of files
// below folder.
// https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
func printGitHub(out io.Writer, r report, folder string) error {
	w, flush := buffered(out)
	for _, p := range r.problems() {
		printAnnotation(w.to, p, folder)
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

// commandData escapes text for the data of a workflow command.
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
