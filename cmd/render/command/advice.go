package command

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
	return strings.Join(append([]string{"render"}, selectionFlags(f.Selection, f.root)...), " ")
}

// selectionFlags are the flags that select environments of a repository.
func selectionFlags(selection render.Selection, root string) (words []string) {
	if selection.All {
		words = append(words, "--all")
	}
	for _, name := range selection.Names {
		words = append(words, "--env", word(name))
	}
	if root != "" {
		words = append(words, "--root", word(root))
	}
	return words
}

// word is a text as one word for a shell.
func word(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
