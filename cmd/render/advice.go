package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"example.com/gatehouse/render"
)

// printOrphans prints the files below rendered/ that belong elsewhere. A check does not pass
// them; rendering leaves them. A program reads them in the report.
func printOrphans(w io.Writer, update *render.Update, f flags) {
	if f.output != "text" {
		return
	}
	for _, orphan := range update.Orphans {
		orphan.Warning = !f.check
		fmt.Fprintln(w, orphan)
	}
}

// printWhatToRun ends a check with the command that writes what it has shown.
func printWhatToRun(w io.Writer, update *render.Update, f flags) {
	if f.check && !update.Failed() && update.Changes() {
		fmt.Fprintf(w, "rendered/ is not up to date: run %s\n", f.renderCommand())
	}
}

// plainWord matches what is one word for a shell.
var plainWord = regexp.MustCompile(`^[-\w./:@%+=,]+$`)

// renderCommand is the command that writes what a check with the flags looks at.
func (f flags) renderCommand() string {
	words := []string{"render"}
	if f.All {
		words = append(words, "--all")
	}
	for _, name := range f.Names {
		words = append(words, "--env", name)
	}
	if f.root != "" {
		root := f.root
		if !plainWord.MatchString(root) {
			root = "'" + strings.ReplaceAll(root, "'", `'\''`) + "'"
		}
		words = append(words, "--root", root)
	}
	return strings.Join(words, " ")
}
