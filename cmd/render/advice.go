package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"example.com/gatehouse/render"
)

// printAdvice ends a report with what is left to do: the files that are in the way of
// nothing but belong elsewhere, and after a check the command that writes what it has
// shown. A program reads the former in JSON.
func printAdvice(w io.Writer, update *render.Update, f flags) {
	for _, orphan := range update.Orphans {
		orphan.Warning = !f.check
		if f.output == "text" {
			fmt.Fprintln(w, orphan)
		}
	}
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
