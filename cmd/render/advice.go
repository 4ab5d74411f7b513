package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/object"
)

// printWhatToRun ends a check with the command that writes what it has shown.
func printWhatToRun(out, errOut io.Writer, update *render.Update, f flags) {
	if !f.check || update.Failed() || !update.Changes() {
		return
	}
	message := "rendered/ is not up to date: run " + f.renderCommand()
	if f.output == "github" {
		printAnnotation(out, object.Problem{Message: message}, "")
		return
	}
	fmt.Fprintln(errOut, message)
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
