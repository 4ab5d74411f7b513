package page

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"example.com/gatehouse/kind"
	"example.com/gatehouse/render/manifest"
)

// column is a column of a table, in Markdown.
type column struct {
	title    string
	isNumber bool // is aligned to the right
	cells    []string
	totals   map[string]string // of namespaces, by their names; "" for all
}

// writeTable writes a table of the first of so many things, with a last row of totals if there are any.
func writeTable(page *bytes.Buffer, all int, things string, columns []column) {
	row := func(cell func(c column) string) {
		page.WriteString("|")
		for _, c := range columns {
			if text := cell(c); text != "" {
				page.WriteString(" " + text)
			}
			page.WriteString(" |")
		}
		page.WriteString("\n")
	}
	row(func(c column) string { return c.title })
	row(func(c column) string {
		if c.isNumber {
			return "---:"
		}
		return "---"
	})
	for i := range min(all, maxRows) {
		row(func(c column) string { return c.cells[i] })
	}
	if all > maxRows {
		fmt.Fprintf(page, "| and %d more %s |%s\n", all-maxRows, things, strings.Repeat(" |", len(columns)-1))
	}
	if columns[0].totals != nil {
		row(func(c column) string { return bold(c.totals[""]) })
	}
}

// plainWord matches names that have no meaning to Markdown.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`)

// revision matches names that a host may take for a commit.
var revision = regexp.MustCompile(`^[0-9a-f]{7,40}$`)

// isWord reports whether a name means nothing to Markdown and its hosts.
func isWord(name string) bool { return plainWord.MatchString(name) && !revision.MatchString(name) }

// word returns a name in Markdown: as code if it might be anything but text.
func word(name string) string {
	if isWord(name) {
		return name
	}
	return code(name)
}

// markup has what means something to Markdown or HTML within a line, and a line break.
var markup = regexp.MustCompile("[\\\\`*_\\[\\]<>|&]")

// escape returns text in Markdown.
func escape(text string) string {
	return strings.ReplaceAll(printable(markup.ReplaceAllString(text, `\$0`), '\n'), "\n", "<br>")
}

// printable returns text with the characters escaped that break the line or direct a reader's
// eyes elsewhere.
func printable(text string, keep ...rune) string {
	const emoji = '\ufe0f' // what makes a symbol one
	return kind.Visible(text, append(keep, emoji)...)
}

// bold returns Markdown in bold.
func bold(text string) string {
	if text == "" {
		return ""
	}
	return "**" + text + "**"
}

// maxCode bounds the length of what is shown as code, in characters.
const maxCode = 72

// code returns text as code in the cell of a table. Long text is cut.
func code(text string) string {
	text = cut(printable(cut(strings.TrimSpace(text), maxCode)), maxCode)
	if text == "" {
		return "(blank)"
	}
	return manifest.CodeSpan(text)
}

// cut returns text of at most so many characters.
func cut(text string, length int) string {
	if utf8.RuneCountInString(text) <= length {
		return text
	}
	return string([]rune(text)[:length-1]) + "…"
}

func count(n int, noun string) string { return string(kind.Count(int64(n), noun)) }
