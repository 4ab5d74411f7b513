package command

import (
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
	"example.com/gatehouse/render/tree"
)

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

// renderCommand returns the command that renders the same environments.
func (f flags) renderCommand() string {
	return strings.Join(append([]string{"render"}, selectionFlags(f.Selection, f.root)...), " ")
}

// selectionFlags returns the flags that select environments of a repository.
func selectionFlags(selection render.Selection, root string) (words []string) {
	if selection.All {
		words = append(words, "--all")
	}
	for _, name := range selection.Names {
		words = append(words, "--env", quote(name))
	}
	if root != "" {
		words = append(words, "--root", quote(root))
	}
	return words
}

func quote(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
